package io.tensorflowignite.data.read;

import static org.junit.Assert.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class RateLimitTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final RateLimit limit = new RateLimit(1_000);

  @Test
  public void theFirstAmountWaitsForNothingAndEachOtherForTheTimeOfTheEarlierOnes() {
    long now = Long.MAX_VALUE - SECOND;
    assertEquals(0, limit.reserve(500, now));
    assertEquals(SECOND / 2, limit.reserve(2_000, now));
    assertEquals(5 * SECOND / 2, limit.reserve(1, now));
    assertEquals(SECOND / 2 + SECOND / 1_000, limit.reserve(1, now + 2 * SECOND));
  }

  @Test
  public void timeWithoutRowsIsNotMadeUpFor() {
    assertEquals(0, limit.reserve(1_000, 0));
    assertEquals(0, limit.reserve(1_000, 100 * SECOND));
    assertEquals(SECOND, limit.reserve(1_000, 100 * SECOND));
  }

  @Test
  public void aRateOfOneIsNoOverflow() {
    RateLimit slow = new RateLimit(1);
    assertEquals(0, slow.reserve(Long.MAX_VALUE, 0));
    assertEquals(Long.MAX_VALUE / 4, slow.reserve(1, 0), 1e6);
  }
}
