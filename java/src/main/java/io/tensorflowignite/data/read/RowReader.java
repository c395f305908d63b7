package io.tensorflowignite.data.read;

import java.util.List;

/** Reads primary partitions of this node, and hands their rows over in batches. */
public interface RowReader {
  /**
   * Reads until all rows are sent, but for partitions that have moved away, or nobody wants them
   * any more.
   */
  void read(
      List<Integer> partitions, PartitionTurns turns, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException;
}
