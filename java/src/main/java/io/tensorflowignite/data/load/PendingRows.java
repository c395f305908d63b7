package io.tensorflowignite.data.load;

import io.tensorflowignite.region.Reservation;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** The reserved memory of one batch, until the last of its rows is stored. */
final class PendingRows {
  private final Reservation memory;
  private final Set<PendingRows> all;

  /** Futures of rows that are not stored, and the batch itself while rows are added. */
  private final AtomicInteger open = new AtomicInteger(1);

  /**
   * @param all the pending batches of a load; this one removes itself
   */
  PendingRows(Reservation memory, Set<PendingRows> all) {
    this.memory = memory;
    this.all = all;
    all.add(this);
  }

  /** Rows are on their way. */
  void sent() {
    open.incrementAndGet();
  }

  /** Rows are stored or failed, or all rows have been added. */
  void done() {
    if (open.decrementAndGet() == 0) {
      release();
    }
  }

  /** Everything on its way has been stored. */
  void release() {
    if (all.remove(this)) {
      memory.close();
    }
  }
}
