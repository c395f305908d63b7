package io.tensorflowignite.data.read;

import java.util.concurrent.TimeUnit;

/**
 * The times at which rows may be sent to keep a rate: each batch takes its time at this rate, and
 * the next batch begins after that. Reads no clock. Thread-safe.
 */
final class RateLimit {
  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final double perSecond;

  /** When the amounts so far have taken their time. */
  private long free;

  private boolean used;

  /**
   * @param perSecond amount in a second, above 0
   */
  RateLimit(long perSecond) {
    this.perSecond = perSecond;
  }

  /** Whether the amounts so far have not taken their time yet. */
  synchronized boolean isTaken(long now) {
    return used && free - now > 0;
  }

  /**
   * Takes the time of an amount.
   *
   * @param now in nanoseconds, of a monotonic clock
   * @return nanoseconds from now until the amount may be sent; 0: at once
   */
  synchronized long reserve(long amount, long now) {
    long begin = used && free - now > 0 ? free : now;
    used = true;
    free = begin + (long) Math.min(Long.MAX_VALUE / 4.0, amount / perSecond * SECOND);
    return begin - now;
  }
}
