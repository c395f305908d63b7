package io.tensorflowignite.data.read;

import java.util.List;

/** Reads primary partitions of this node, and sends their rows in batches. */
public interface RowReader {
  /** Returns when all rows are sent, except those of moved partitions, or the reader has left. */
  void read(List<Integer> partitions, OwnershipCheck ownership, BatchWriter writer, BatchSink sink)
      throws InterruptedException;
}
