package io.tensorflowignite.data.read;

import java.util.Iterator;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The part of the heap that Ignite's scans may hold. An open scan holds all rows of one page of the
 * index: with rows of 1 MB, up to 340 MB. Thread-safe.
 */
public final class ScanMemory {
  /** Open scans may hold this fraction of the heap. */
  private static final int HEAP_DIVISOR = 4;

  /** Number of rows whose size is looked at for an estimate. */
  private static final int SAMPLE = 4;

  private final AtomicLong free;

  public ScanMemory() {
    this(Runtime.getRuntime().maxMemory() / HEAP_DIVISOR);
  }

  ScanMemory(long bytes) {
    free = new AtomicLong(bytes);
  }

  /** The size of the largest of a partition's first rows; 0: there is none. */
  static long rowBytes(LocalPartition partition) {
    long largest = 0;
    Iterator<Integer> sizes = partition.sizes();
    for (int i = 0; i < SAMPLE && sizes.hasNext(); i++) {
      largest = Math.max(largest, sizes.next());
    }
    return largest;
  }

  /** The most bytes that a scan of a partition with rows of a size holds. */
  static long estimate(LocalPartition partition, long rowBytes) {
    return rowBytes * Math.min(partition.pageRows(), partition.size());
  }

  /** Returns whether the bytes are reserved; if so, they must be released. */
  boolean reserve(long bytes) {
    long left = free.addAndGet(-bytes);
    if (left < 0) {
      free.addAndGet(bytes);
      return false;
    }
    return true;
  }

  void release(long bytes) {
    free.addAndGet(bytes);
  }
}
