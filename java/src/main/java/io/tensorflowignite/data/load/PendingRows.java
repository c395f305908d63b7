package io.tensorflowignite.data.load;

import io.tensorflowignite.region.Reservation;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** One batch and its reserved memory, until the last of its rows is stored. */
final class PendingRows {
  private final Reservation memory;
  private final int rows;
  private final LongAdder stored;
  private final Set<PendingRows> all;

  /** Futures of rows that are not stored, and the batch itself while rows are added. */
  private final AtomicInteger open = new AtomicInteger(1);

  /**
   * @param rows number of rows of the batch
   * @param stored the stored rows of a load, to which these will be added
   * @param all the pending batches of a load; this one removes itself
   */
  PendingRows(Reservation memory, int rows, LongAdder stored, Set<PendingRows> all) {
    this.memory = memory;
    this.rows = rows;
    this.stored = stored;
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
      stored.add(rows);
      memory.close();
    }
  }
}
