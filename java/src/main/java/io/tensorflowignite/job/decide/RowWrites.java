package io.tensorflowignite.job.decide;

import io.tensorflowignite.v1.Job;
import java.time.Duration;

/**
 * When the service of a job writes its row, which takes a transaction over all nodes. Transitions,
 * and changes that nodes wait for, are written at once. Other changes that affect decisions are
 * written at most once a second, since nodes report again after a failure of this node. Progress is
 * never written.
 */
public final class RowWrites {
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  private long writtenAt;

  /**
   * @param nanos the time of a monotonic clock
   */
  public RowWrites(long nanos) {
    this.writtenAt = nanos - INTERVAL.toNanos();
  }

  /**
   * Whether the row is to be written now.
   *
   * @param row the stored row
   * @param observed the row that follows from the observation
   * @param hasTransitions whether the state has changed
   */
  public boolean isDue(Job row, Job observed, boolean hasTransitions, long nanos) {
    boolean due =
        hasTransitions
            || DecidingPart.isUrgent(row, observed)
            || (nanos - writtenAt >= INTERVAL.toNanos()
                && !DecidingPart.of(observed).equals(DecidingPart.of(row)));
    if (due) {
      writtenAt = nanos;
    }
    return due;
  }
}
