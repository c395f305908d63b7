package io.tensorflowignite.base;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

public class RateLimitedLogTest {
  private final List<String> lines = new ArrayList<>();
  private final AtomicLong now = new AtomicLong();
  private final RateLimitedLog log =
      new RateLimitedLog(
          new NullLogger() {
            @Override
            public void error(String line, Throwable error) {
              lines.add(line);
            }
          },
          now::get);

  @Test
  public void tenErrorsAMinuteAreLoggedAndTheOthersCounted() {
    for (int i = 0; i < 1_000; i++) {
      log.error("failed", new IllegalStateException());
    }
    assertEquals(10, lines.size());
    now.addAndGet(TimeUnit.MINUTES.toNanos(1));
    log.error("failed", new IllegalStateException());
    assertEquals(11, lines.size());
    assertTrue(lines.get(10), lines.get(10).contains("suppressedBefore=990"));
  }

  @Test
  public void aLongTextKeepsItsEndsAndFitsAHeader() {
    String text = "What happened. " + "\u20ac\ud83d\ude00%".repeat(100_000) + " Do this.";
    String shortened = TensorFlowIgniteException.shortened(text);
    assertTrue(shortened, shortened.startsWith("What happened. "));
    assertTrue(shortened, shortened.endsWith(" Do this."));
    assertTrue(shortened.length() < 4_000);
    assertEquals("short", TensorFlowIgniteException.shortened("short"));
  }
}
