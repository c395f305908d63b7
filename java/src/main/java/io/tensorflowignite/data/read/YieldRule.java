package io.tensorflowignite.data.read;

import java.util.concurrent.TimeUnit;

/**
 * The share of a processor that each stream may use, from observations of the node's other work. It
 * is 1 while the node has no other work, or while the threads of this work get a processor at once.
 * While these threads wait, the share falls quickly, to 0.1 at least; otherwise it rises slowly. It
 * settles where about one thread in seventy is late. Reads no clock. Thread-safe.
 */
final class YieldRule {
  /** Training never stops. */
  static final double LEAST_SHARE = 0.1;

  /** A node with less other work is idle: the service itself sometimes writes its tables. */
  static final double IDLE_OPERATIONS_PER_SECOND = 50;

  /** A thread that waits longer for its processor is late. */
  static final long LATE_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

  private static final double FALL = 0.7;
  private static final double RISE = 1.005;
  private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private boolean observed;
  private boolean working;
  private long windowBegin;
  private long windowOperations;
  private volatile double share = 1;

  /** The share of a processor that each stream may use, from {@link #LEAST_SHARE} to 1. */
  double share() {
    return share;
  }

  /**
   * One observation.
   *
   * @param now in nanoseconds, of a monotonic clock
   * @param operations number of other operations that the node has completed since its start
   * @param waitNanos the time that a thread of other operations waited for a processor
   */
  synchronized void observe(long now, long operations, long waitNanos) {
    if (!observed) {
      observed = true;
      begin(now, operations);
    } else if (now - windowBegin >= WINDOW_NANOS) {
      double seconds = (now - windowBegin) / SECOND;
      working = (operations - windowOperations) / seconds >= IDLE_OPERATIONS_PER_SECOND;
      begin(now, operations);
    }
    if (!working) {
      share = 1;
    } else if (waitNanos > LATE_NANOS) {
      share = Math.max(LEAST_SHARE, share * FALL);
    } else {
      share = Math.min(1, share * RISE);
    }
  }

  private void begin(long now, long operations) {
    windowBegin = now;
    windowOperations = operations;
  }
}
