package io.tensorflowignite;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what nothing tells of. */
public final class Await {
  private static final long POLL_MS = 20;
  private static final long SECONDS = 30;

  private Await() {}

  /** The first thing that is seen; none in time is an error. */
  public static <T> T seen(String what, Supplier<T> look) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    for (T seen = look.get(); ; seen = look.get()) {
      if (seen != null) {
        return seen;
      }
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not in " + SECONDS + " s: " + what);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MS));
    }
  }

  /** Returns when a condition holds; that it does not in time is an error. */
  public static void until(String what, BooleanSupplier condition) {
    seen(what, () -> condition.getAsBoolean() ? true : null);
  }
}
