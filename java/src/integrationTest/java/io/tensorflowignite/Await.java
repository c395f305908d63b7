package io.tensorflowignite;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Polls until a condition holds. */
public final class Await {
  private static final long POLL_MS = 20;

  /** As of Python's tests: the factor for machines that are slower than most. */
  private static final double PATIENCE =
      Double.parseDouble(System.getenv().getOrDefault("TENSORFLOW_IGNITE_TEST_PATIENCE", "1"));

  private static final long SECONDS = (long) (180 * PATIENCE);

  private Await() {}

  /** Returns the first value that is not null; fails after 180 s. */
  public static <T> T nonNull(String condition, Supplier<T> poll) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    for (T value = poll.get(); ; value = poll.get()) {
      if (value != null) {
        return value;
      }
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + SECONDS + " s: " + condition);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MS));
    }
  }

  /** Returns when a condition holds; fails after 180 s. */
  public static void until(String description, BooleanSupplier condition) {
    nonNull(description, () -> condition.getAsBoolean() ? true : null);
  }
}
