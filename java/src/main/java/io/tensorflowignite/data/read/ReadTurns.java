package io.tensorflowignite.data.read;

import io.grpc.Context;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Limits how many streams of a node read rows at the same time. Otherwise a thousand streams would
 * take the processors from the threads that keep the node in the cluster. A stream that waits for
 * its reader gives its turn to another one, and a call that ends waits no longer. Thread-safe.
 */
public final class ReadTurns {
  /** A wait for a reader. */
  public interface Wait<R> {
    R run() throws InterruptedException;
  }

  private static final int SCANS_PER_PROCESSOR = 2;

  private static final ThreadLocal<ReadTurns> HELD = new ThreadLocal<>();

  private int free;

  /** In the order of their turns; true: it has its turn. */
  private final Set<CompletableFuture<Boolean>> waiting = new LinkedHashSet<>();

  /** For streams that scan partitions. */
  public static ReadTurns ofScans() {
    return new ReadTurns(SCANS_PER_PROCESSOR * Runtime.getRuntime().availableProcessors());
  }

  /** For streams that run queries: a query keeps its turn until it finds a row. */
  public static ReadTurns ofQueries() {
    return new ReadTurns(Runtime.getRuntime().availableProcessors());
  }

  ReadTurns(int streams) {
    free = streams;
  }

  /**
   * Waits for a turn, which belongs to this thread until {@link #end}.
   *
   * @throws InterruptedException the current call has ended
   */
  public void begin() throws InterruptedException {
    Context call = Context.current();
    CompletableFuture<Boolean> turn = new CompletableFuture<>();
    synchronized (this) {
      if (call.isCancelled()) {
        turn.complete(false);
      } else if (free > 0) {
        free--;
        turn.complete(true);
      } else {
        waiting.add(turn);
      }
    }
    Context.CancellationListener ended = context -> turn.complete(false);
    call.addListener(ended, Runnable::run);
    try {
      if (!turn.get()) {
        throw new InterruptedException("The call has ended.");
      }
      HELD.set(this);
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    } finally {
      call.removeListener(ended);
      if (HELD.get() != this) {
        leave(turn);
      }
    }
  }

  /** Ends the wait of a thread that does not take its turn. */
  private synchronized void leave(CompletableFuture<Boolean> turn) {
    waiting.remove(turn);
    if (!turn.complete(false) && turn.join()) {
      release();
    }
  }

  /** Does nothing if this thread has no turn. */
  public void end() {
    if (HELD.get() == this) {
      HELD.remove();
      release();
    }
  }

  private synchronized void release() {
    while (!waiting.isEmpty()) {
      CompletableFuture<Boolean> next = waiting.iterator().next();
      waiting.remove(next);
      if (next.complete(true)) {
        return;
      }
    }
    free++;
  }

  synchronized int free() {
    return free;
  }

  synchronized int waiting() {
    return waiting.size();
  }

  /** Waits without the turn of this thread, if it has one. */
  public static <R> R pause(Wait<R> wait) throws InterruptedException {
    ReadTurns held = HELD.get();
    if (held == null) {
      return wait.run();
    }
    held.end();
    R result = wait.run();
    held.begin();
    return result;
  }
}
