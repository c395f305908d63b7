package io.tensorflowignite.data.read;

import io.tensorflowignite.data.column.Batch;

/** Takes batches to their reader. */
public interface BatchCarrier {
  /**
   * Hands a batch over, as soon as the reader can take it; its memory is the carrier's to free.
   *
   * @return false when nobody wants batches any more
   */
  boolean send(Batch batch) throws InterruptedException;
}
