package io.tensorflowignite.data.read;

import io.tensorflowignite.ignite.LocalPartition;
import java.util.Iterator;

/**
 * The part of the heap that Ignite's scans may hold. An open scan holds all rows of one page of the
 * index: with rows of 1 MB, up to 340 MB. Thread-safe.
 */
public final class ScanMemory extends HeapBudget {
  /** Open scans may hold this fraction of the heap. */
  private static final int HEAP_DIVISOR = 4;

  /** Number of rows whose sizes are measured for an estimate. */
  private static final int SAMPLE = 4;

  public ScanMemory() {
    this(Runtime.getRuntime().maxMemory() / HEAP_DIVISOR);
  }

  ScanMemory(long bytes) {
    super(bytes);
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
}
