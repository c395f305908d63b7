package io.tensorflowignite.data.read;

import io.tensorflowignite.data.column.Batch;

/** Sends batches to their reader. */
public interface BatchSink {
  /**
   * Sends a batch as soon as the reader can receive it, and frees the batch.
   *
   * @return false if the reader has left
   */
  boolean send(Batch batch) throws InterruptedException;
}
