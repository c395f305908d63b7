package io.tensorflowignite.data.read;

import io.tensorflowignite.v1.ReadResult;
import java.util.List;

/** Reads primary partitions of this node, and sends their rows in batches. */
public interface RowReader {
  /**
   * Returns when all rows of the partitions that have not moved are sent, or the reader has left.
   *
   * @param pace gets a call after each row
   */
  void read(
      List<Integer> partitions,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException;

  /** Adds to the result of a stream what only this reader knows, after {@link #read}. */
  default void addTo(ReadResult.Builder result) {}
}
