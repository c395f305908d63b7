package io.tensorflowignite.data.load;

import io.tensorflowignite.region.Reservation;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** The reserved memory of some rows, until the last of them is stored. */
final class PendingRows {
  private final Reservation memory;
  private final int rows;
  private final LongAdder stored;
  private final Set<PendingRows> all;

  /** Futures of rows that are not stored, and one while rows are added. */
  private final AtomicInteger open = new AtomicInteger(1);

  private volatile boolean added;

  /**
   * @param rows number of these rows
   * @param stored the stored rows of a load, to which these will be added
   * @param all the pending rows of a load; these remove themselves
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

  /** All rows have been added: a flush stores them. */
  void added() {
    added = true;
    done();
  }

  boolean isAdded() {
    return added;
  }

  /** Rows are stored or failed. */
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
