package io.tensorflowignite;

import static org.junit.Assert.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Waits for what nothing tells of. */
public final class Await {
  private static final long POLL_MS = 20;

  private Await() {}

  /** The first thing that is seen; none in time is an error. */
  public static <T> T seen(Supplier<T> look, long seconds) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    for (T seen = look.get(); ; seen = look.get()) {
      if (seen != null) {
        return seen;
      }
      assertTrue("in time", System.nanoTime() < deadline);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MS));
    }
  }
}
