package io.tensorflowignite.data.read;

import static io.tensorflowignite.data.read.YieldRule.LATE_NANOS;
import static io.tensorflowignite.data.read.YieldRule.LEAST_SHARE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.Test;

/**
 * Promise (rows): A stream gives way to an application, and keeps at least a tenth of a processor.
 */
public class YieldRuleTest {
  private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LATE = LATE_NANOS + 1;
  private static final int BUSY = 10;

  private final YieldRule rule = new YieldRule();
  private long now = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(1);
  private long operations;

  /** Observations at every hundredth of a second. */
  private double observe(int count, int operationsEach, long waitNanos) {
    for (int i = 0; i < count; i++) {
      // The clock of the JVM may pass its largest number.
      now += STEP_NANOS;
      operations += operationsEach;
      rule.observe(now, operations, waitNanos);
    }
    return rule.share();
  }

  @Test
  public void aStreamUsesAWholeProcessorWithoutOtherWorkOrWhereThatWorkNeverWaits() {
    assertEquals(1, rule.share(), 0);
    assertEquals(1, observe(1_000, 0, 100 * LATE), 0);
    assertEquals(1, observe(1_000, BUSY, LATE_NANOS), 0);
  }

  @Test
  public void whereWorkWaitsTheShareFallsWithinHalfASecondAndNeverBelowTheLeast() {
    assertEquals(LEAST_SHARE, observe(50, BUSY, LATE), 1e-9);
    assertEquals(LEAST_SHARE, observe(1_000, BUSY, 100 * LATE), 1e-9);
  }

  @Test
  public void theShareRisesSlowlyWhereWorkWaitsNoLonger() {
    observe(50, BUSY, LATE);
    double afterOneSecond = observe(100, BUSY, 0);
    assertTrue(afterOneSecond > LEAST_SHARE && afterOneSecond < 0.2);
    assertEquals(1, observe(500, BUSY, 0), 0);
  }

  @Test
  public void theShareStaysWhereOneThreadInSeventyIsLate() {
    observe(50, BUSY, LATE);
    observe(100, BUSY, 0);
    double before = rule.share();
    for (int i = 0; i < 20; i++) {
      observe(1, BUSY, LATE);
      observe(71, BUSY, 0);
    }
    assertEquals(before, rule.share(), 0.02);
  }

  @Test
  public void theShareIsWholeAgainWhenTheWorkEndsOrAfterAPauseBetweenStreams() {
    observe(50, BUSY, LATE);
    assertEquals(1, observe(41, 0, LATE), 0);
    // A pause between streams is no work.
    observe(50, BUSY, LATE);
    now += TimeUnit.MINUTES.toNanos(10);
    assertEquals(1, observe(1, BUSY, LATE), 0);
  }
}
