package io.tensorflowignite.data.read;

import java.util.concurrent.Semaphore;

/**
 * Limits how many streams of a node read rows at the same time. Otherwise a thousand streams would
 * take the processors from the threads that keep the node in the cluster. A stream that waits for
 * its reader gives its turn to another one. Thread-safe.
 */
public final class ReadTurns {
  /** A wait for a reader. */
  public interface Wait<R> {
    R run() throws InterruptedException;
  }

  private static final int SCANS_PER_PROCESSOR = 2;

  private static final ThreadLocal<ReadTurns> HELD = new ThreadLocal<>();

  private final Semaphore free;

  /** For streams that scan partitions. */
  public static ReadTurns ofScans() {
    return new ReadTurns(SCANS_PER_PROCESSOR * Runtime.getRuntime().availableProcessors());
  }

  /** For streams that run queries: a query keeps its turn until it finds a row. */
  public static ReadTurns ofQueries() {
    return new ReadTurns(Runtime.getRuntime().availableProcessors());
  }

  ReadTurns(int streams) {
    free = new Semaphore(streams, true);
  }

  /** Waits for a turn, which belongs to this thread until {@link #end}. */
  public void begin() throws InterruptedException {
    free.acquire();
    HELD.set(this);
  }

  public void end() {
    HELD.remove();
    free.release();
  }

  int free() {
    return free.availablePermits();
  }

  /** Waits without the turn of this thread, if it has one. */
  public static <R> R pause(Wait<R> wait) throws InterruptedException {
    ReadTurns held = HELD.get();
    if (held == null) {
      return wait.run();
    }
    held.end();
    try {
      return wait.run();
    } finally {
      held.free.acquireUninterruptibly();
      HELD.set(held);
    }
  }
}
