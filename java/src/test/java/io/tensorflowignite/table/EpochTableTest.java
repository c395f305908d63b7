package io.tensorflowignite.table;

import static org.junit.Assert.assertEquals;

import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.cache.expiry.Duration;
import org.junit.Test;

/** How long the agreements of workers are kept. */
public final class EpochTableTest {
  @Test
  public void anAgreementThatSomeWorkersHaveNotJoinedIsKeptForADay() {
    assertEquals(new Duration(TimeUnit.HOURS, 1), EpochTable.kept(List.of()));
    assertEquals(new Duration(TimeUnit.DAYS, 1), EpochTable.kept(List.of(5L, 7L)));
  }
}
