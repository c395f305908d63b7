package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.lang.IgniteFuture;

/**
 * Writes batches into a cache through Ignite's data streamer. Making an object of a row costs about
 * as much as storing it, so several threads share the rows of a batch.
 */
final class RowStreamer {
  /** About how many bytes of rows the streamer gathers for a node before it sends them. */
  private static final long BUFFER_BYTES = 4L << 20;

  private static final int MAX_BUFFER_ROWS = 1024;
  private static final int PARALLEL_SENDS = 8;
  private static final int MAX_THREADS = 8;

  private final Ignite ignite;
  private final ExecutorService executor;
  private final LoadPlan plan;
  private final LoadTarget target;
  private final IgniteDataStreamer<Object, Object> streamer;
  private final int threads;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private long rows;

  RowStreamer(Ignite ignite, ExecutorService executor, LoadPlan plan, LoadTarget target) {
    this.ignite = ignite;
    this.executor = executor;
    this.plan = plan;
    this.target = target;
    threads = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors());
    streamer = ignite.dataStreamer(target.cache());
    streamer.keepBinary(true);
    streamer.allowOverwrite(!target.made());
    streamer.perNodeParallelOperations(PARALLEL_SENDS);
  }

  /** Rows that were taken. */
  long rows() {
    return rows;
  }

  /** Returns when the batch may be used again. */
  void add(VectorSchemaRoot batch) {
    int count = batch.getRowCount();
    if (rows == 0 && count > 0) {
      size(batch);
    }
    int parts = Math.min(threads, count);
    List<Future<?>> others = new ArrayList<>();
    for (int part = 1; part < parts; part++) {
      int from = (int) ((long) count * part / parts);
      int to = (int) ((long) count * (part + 1) / parts);
      others.add(start(() -> add(batch, from, to)));
    }
    RuntimeException error = null;
    try {
      add(batch, 0, count / Math.max(1, parts));
    } catch (RuntimeException first) {
      error = first;
    }
    for (Future<?> other : others) {
      RuntimeException next = errorOf(other);
      error = error == null ? next : error;
    }
    if (error != null) {
      throw error;
    }
    rows += count;
    requireNoFailure();
  }

  /** Returns when every row is stored. */
  void finish() {
    streamer.close(false);
    requireNoFailure();
  }

  /**
   * Returns when nothing is on its way any more, after an error. What is buffered is stored first:
   * Ignite's own cancellation interrupts the threads that write on this node, and a node whose
   * thread ends so stops.
   */
  void end() {
    streamer.close(false);
  }

  /** What went wrong first: a row that was not stored counts for more than what came of it. */
  RuntimeException first(RuntimeException error) {
    Throwable first = failure.get();
    return first == null || error instanceof TensorFlowIgniteException ? error : notWritten(first);
  }

  /** Ignite's own sizes count rows; ours may be large. */
  private void size(VectorSchemaRoot batch) {
    long bytes = 0;
    for (FieldVector vector : batch.getFieldVectors()) {
      bytes += vector.getBufferSize();
    }
    long rowBytes = Math.max(1, bytes / batch.getRowCount());
    int size = (int) Math.max(1, Math.min(MAX_BUFFER_ROWS, BUFFER_BYTES / rowBytes));
    streamer.perNodeBufferSize(size);
    streamer.perThreadBufferSize(size);
  }

  private void add(VectorSchemaRoot batch, int from, int to) {
    RowObjects objects = new RowObjects(ignite.binary(), plan, target, batch);
    IgniteFuture<?> watched = null;
    for (int row = from; row < to; row++) {
      try {
        Object key = objects.key(row, rows + row);
        IgniteFuture<?> sent = streamer.addData(key, objects.value(row));
        // Many rows share a future.
        if (sent != watched) {
          watched = sent;
          watch(sent);
        }
      } catch (MismatchException mismatch) {
        throw new TensorFlowIgniteException(
            ErrorCode.ROW_MISMATCH,
            String.format(
                "row %d for cache %s: column %s%s %s; a row is loaded as its column's type says,"
                    + " and keys hold no null; correct the row, or leave the column out",
                rows + row,
                target.cache(),
                objects.column(),
                mismatch.path(),
                mismatch.getMessage()));
      }
    }
  }

  private void watch(IgniteFuture<?> sent) {
    sent.listen(
        done -> {
          try {
            done.get();
          } catch (RuntimeException error) {
            failure.compareAndSet(null, error);
          }
        });
  }

  private Future<?> start(Runnable part) {
    FutureTask<?> task = new FutureTask<>(part, null);
    try {
      executor.execute(task);
    } catch (RejectedExecutionException stopping) {
      task.run();
    }
    return task;
  }

  /** Waits whatever happens: the thread reads from a batch that is not its own. */
  private static RuntimeException errorOf(Future<?> part) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          part.get();
          return null;
        } catch (InterruptedException again) {
          interrupted = true;
        } catch (ExecutionException failed) {
          if (failed.getCause() instanceof RuntimeException) {
            return (RuntimeException) failed.getCause();
          }
          return new IllegalStateException(failed.getCause());
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void requireNoFailure() {
    Throwable error = failure.get();
    if (error != null) {
      throw notWritten(error);
    }
  }

  private TensorFlowIgniteException notWritten(Throwable error) {
    return new TensorFlowIgniteException(
        ErrorCode.INTERNAL_ERROR,
        String.format(
            "rows could not be written into cache %s: %s; a load writes all its rows or fails; see"
                + " the nodes' logs, and load again",
            target.cache(), error),
        error);
  }
}
