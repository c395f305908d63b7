package io.tensorflowignite.base;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.ignite.IgniteLogger;

/**
 * Logs at most ten lines per minute, and the number of the others, so that callers cannot fill a
 * disk with errors and warnings that they provoke.
 */
public final class RateLimitedLog {
  private static final int PER_MINUTE = 10;

  private final IgniteLogger log;
  private final LongSupplier nanos;
  private long minuteStart;
  private int logged;
  private long suppressed;

  public RateLimitedLog(IgniteLogger log) {
    this(log, System::nanoTime);
  }

  RateLimitedLog(IgniteLogger log, LongSupplier nanos) {
    this.log = log;
    this.nanos = nanos;
    this.minuteStart = nanos.getAsLong();
  }

  public void error(String text, Throwable error) {
    long before = suppressedBefore();
    if (before >= 0) {
      log.error(before == 0 ? text : text + " [suppressedBefore=" + before + "]", error);
    }
  }

  public void warning(String text) {
    long before = suppressedBefore();
    if (before >= 0) {
      log.warning(before == 0 ? text : text + " [suppressedBefore=" + before + "]");
    }
  }

  /** The number of lines that were suppressed since the last log line; -1: suppress this one. */
  private synchronized long suppressedBefore() {
    if (nanos.getAsLong() - minuteStart >= TimeUnit.MINUTES.toNanos(1)) {
      minuteStart = nanos.getAsLong();
      logged = 0;
    }
    if (logged == PER_MINUTE) {
      suppressed++;
      return -1;
    }
    logged++;
    long before = suppressed;
    suppressed = 0;
    return before;
  }
}
