package io.tensorflowignite.data.read;

import java.util.concurrent.atomic.AtomicLong;

/** A part of the heap, of which bytes are reserved and released. Thread-safe. */
public abstract class HeapBudget {
  private final AtomicLong free;

  protected HeapBudget(long bytes) {
    free = new AtomicLong(bytes);
  }

  /** Returns whether the bytes are reserved; if so, they must be released. */
  public final boolean reserve(long bytes) {
    if (free.addAndGet(-bytes) < 0) {
      free.addAndGet(bytes);
      return false;
    }
    return true;
  }

  public final void release(long bytes) {
    free.addAndGet(bytes);
  }
}
