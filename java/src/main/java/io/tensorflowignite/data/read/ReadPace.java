package io.tensorflowignite.data.read;

import io.grpc.Context;
import io.tensorflowignite.data.column.Batch;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.LongToDoubleFunction;
import org.apache.arrow.memory.ArrowBuf;

/**
 * The pace of one stream: it pauses between rows such that it uses only its share of a processor,
 * and between batches such that its limits hold. It pauses without its turn (see {@link
 * ReadTurns}), and where neither it nor Ignite holds a lock. Belongs to the thread that reads.
 */
public final class ReadPace {
  private static final long SHORTEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);

  /** Time between checks: short against the pauses, long against the cost of a check. */
  private static final long CHECK_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

  private static final int MOST_ROWS = 1_024;

  /** Waits without the turn of this thread. */
  interface Sleep {
    void run(long nanos) throws InterruptedException;
  }

  private final LongToDoubleFunction share;
  private final List<RateLimit> bytes;
  private final List<RateLimit> rows;
  private final LongSupplier processorTime;
  private final LongSupplier clock;
  private final Sleep sleep;
  private int unchecked;
  private int checkedRows = 1;
  private long checkedAt;
  private long usedBefore;
  private double debt;

  /**
   * @param share returns the share of a processor at a time of the clock; null: all of it
   * @param bytes limits of bytes
   * @param rows limits of rows
   * @param processorTime returns the processor time that this thread has used
   * @param clock returns a monotonic clock's time in nanoseconds
   * @param sleep waits
   */
  ReadPace(
      LongToDoubleFunction share,
      List<RateLimit> bytes,
      List<RateLimit> rows,
      LongSupplier processorTime,
      LongSupplier clock,
      Sleep sleep) {
    this.share = share;
    this.bytes = bytes;
    this.rows = rows;
    this.processorTime = processorTime;
    this.clock = clock;
    this.sleep = sleep;
    if (share != null) {
      checkedAt = clock.getAsLong();
      usedBefore = processorTime.getAsLong();
    }
  }

  /** Called after each row; pauses if this stream has used more than its share. */
  public void afterRow() throws InterruptedException {
    if (share == null || ++unchecked < checkedRows) {
      return;
    }
    unchecked = 0;
    long now = clock.getAsLong();
    long elapsed = now - checkedAt;
    checkedAt = now;
    if (elapsed < CHECK_NANOS / 2) {
      checkedRows = Math.min(MOST_ROWS, 2 * checkedRows);
    } else if (elapsed > CHECK_NANOS) {
      checkedRows = Math.max(1, checkedRows / 2);
    }
    double part = share.applyAsDouble(now);
    long used = processorTime.getAsLong();
    debt = part < 1 ? debt + (used - usedBefore) * (1 / part - 1) : 0;
    usedBefore = used;
    while (debt >= SHORTEST_PAUSE) {
      long pause = (long) Math.min(debt, LONGEST_PAUSE);
      sleep.run(pause);
      debt -= pause;
      if (share.applyAsDouble(clock.getAsLong()) == 1) {
        debt = 0;
      }
    }
  }

  /** Waits until a batch may be sent; frees the batch if the call ends before. */
  public void beforeBatch(Batch batch) throws InterruptedException {
    if (bytes.isEmpty() && rows.isEmpty()) {
      return;
    }
    try {
      long now = clock.getAsLong();
      long wait = 0;
      if (!bytes.isEmpty()) {
        long size = batch.buffers().stream().mapToLong(ArrowBuf::readableBytes).sum();
        for (RateLimit limit : bytes) {
          wait = Math.max(wait, limit.reserve(size, now));
        }
      }
      for (RateLimit limit : rows) {
        wait = Math.max(wait, limit.reserve(batch.rows, now));
      }
      if (wait > 0) {
        sleep.run(wait);
      }
    } catch (InterruptedException | RuntimeException | Error end) {
      batch.close();
      throw end;
    }
  }

  /** Sleeps without the turn of this thread, in slices, so that the end of the call is noticed. */
  static void sleepWithoutTurn(long nanos) throws InterruptedException {
    ReadTurns.<Void>pause(
        () -> {
          long end = System.nanoTime() + nanos;
          for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            if (Context.current().isCancelled()) {
              throw new InterruptedException("The call has ended.");
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(left, LONGEST_PAUSE));
          }
          return null;
        });
  }
}
