package io.tensorflowignite;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.ignite.IgniteLogger;

/**
 * Logs errors that callers can provoke as often as they like: some with their stack traces, and of
 * the others the number, so that no caller fills a disk.
 */
public final class RareLog {
  private static final int PER_MINUTE = 10;

  private final IgniteLogger log;
  private final LongSupplier nanos;
  private long begin;
  private int told;
  private long untold;

  public RareLog(IgniteLogger log) {
    this(log, System::nanoTime);
  }

  RareLog(IgniteLogger log, LongSupplier nanos) {
    this.log = log;
    this.nanos = nanos;
    this.begin = nanos.getAsLong();
  }

  public void error(String text, Throwable error) {
    long left = admitted();
    if (left < 0) {
      return;
    }
    log.error(
        left == 0 ? text : text + " [andBefore=" + left + " more, within the last minutes]", error);
  }

  /** Which errors were not logged since the last that was; -1: neither is this one. */
  private synchronized long admitted() {
    if (nanos.getAsLong() - begin >= TimeUnit.MINUTES.toNanos(1)) {
      begin = nanos.getAsLong();
      told = 0;
    }
    if (told == PER_MINUTE) {
      untold++;
      return -1;
    }
    told++;
    long left = untold;
    untold = 0;
    return left;
  }
}
