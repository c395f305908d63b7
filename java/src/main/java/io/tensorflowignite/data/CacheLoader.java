package io.tensorflowignite.data;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.lang.IgniteFuture;

/** Loads record batches into a cache, as objects, through a data streamer. Serves one load. */
final class CacheLoader {
  /** About how many bytes of rows the streamer gathers for a node before it sends them. */
  private static final long BUFFER_BYTES = 4L << 20;

  private static final int MAX_BUFFER_ROWS = 1024;
  private static final int PARALLEL_SENDS = 8;

  private final Ignite ignite;
  private final Schemas schemas;
  private final SchemaStore store;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private IgniteFuture<?> watched;
  private long rows;

  CacheLoader(Ignite ignite, Schemas schemas, SchemaStore store) {
    this.ignite = ignite;
    this.schemas = schemas;
    this.store = store;
  }

  /** Makes the cache when it does not exist, and removes it when the load fails. */
  LoadResult load(LoadCommand command, BatchSource batches) {
    LoadPlan plan = LoadPlan.of(command, batches.schema());
    LoadTarget target = LoadTarget.prepare(ignite, schemas, store, plan);
    try {
      stream(plan, target, batches);
      requireAll(target);
    } catch (RuntimeException error) {
      suppress(error, target::discard);
      throw error;
    }
    return LoadResult.newBuilder().setRows(rows).build();
  }

  private void stream(LoadPlan plan, LoadTarget target, BatchSource batches) {
    IgniteDataStreamer<Object, Object> streamer = ignite.dataStreamer(target.cache());
    try {
      streamer.keepBinary(true);
      streamer.allowOverwrite(!target.made());
      streamer.perNodeParallelOperations(PARALLEL_SENDS);
      for (VectorSchemaRoot batch = batches.next(); batch != null; batch = batches.next()) {
        if (rows == 0 && batch.getRowCount() > 0) {
          size(streamer, batch);
        }
        add(plan, target, batch, streamer);
        requireNoFailure(target);
      }
      streamer.close(false);
    } catch (RuntimeException error) {
      Throwable first = failure.get();
      suppress(error, () -> streamer.close(true));
      throw first == null || error instanceof TensorFlowIgniteException
          ? error
          : notWritten(target, first);
    }
    requireNoFailure(target);
  }

  /** Ignite's own sizes count rows; ours may be large. */
  private static void size(IgniteDataStreamer<Object, Object> streamer, VectorSchemaRoot batch) {
    long bytes = 0;
    for (FieldVector vector : batch.getFieldVectors()) {
      bytes += vector.getBufferSize();
    }
    long rowBytes = Math.max(1, bytes / batch.getRowCount());
    int size = (int) Math.max(1, Math.min(MAX_BUFFER_ROWS, BUFFER_BYTES / rowBytes));
    streamer.perNodeBufferSize(size);
    streamer.perThreadBufferSize(size);
  }

  private void add(
      LoadPlan plan,
      LoadTarget target,
      VectorSchemaRoot batch,
      IgniteDataStreamer<Object, Object> streamer) {
    String keyColumn = plan.command().getKeyColumn();
    VectorValues.Objects nested = path -> ignite.binary().builder(target.nestedType(path));
    VectorValues keys =
        keyColumn.isEmpty() ? null : VectorValues.of(batch.getVector(keyColumn), nested);
    int width = plan.fields().size();
    String[] names = new String[width];
    VectorValues[] values = new VectorValues[width];
    for (int i = 0; i < width; i++) {
      names[i] = plan.fields().get(i).getName();
      values[i] = VectorValues.of(batch.getVector(names[i]), nested);
    }
    for (int row = 0; row < batch.getRowCount(); row++) {
      String column = keyColumn;
      try {
        Object key = keys == null ? plan.command().getFirstKey() + rows : keys.get(row);
        if (key == null) {
          throw new MismatchException("is null, and a key cannot be");
        }
        BinaryObjectBuilder object = ignite.binary().builder(target.valueType());
        for (int i = 0; i < width; i++) {
          column = names[i];
          VectorValues.set(object, column, values[i].get(row), plan.types().get(i).storage());
        }
        watch(streamer.addData(key, object.build()));
      } catch (MismatchException mismatch) {
        throw new TensorFlowIgniteException(
            ErrorCode.ROW_MISMATCH,
            String.format(
                "row %d for cache %s: column %s%s %s; every row must fit Ignite's types; correct"
                    + " the row, cast the column, or leave it out",
                rows, target.cache(), column, mismatch.path(), mismatch.getMessage()));
      }
      rows++;
    }
  }

  /** Many rows share a future. */
  private void watch(IgniteFuture<?> sent) {
    if (sent == watched) {
      return;
    }
    watched = sent;
    sent.listen(
        done -> {
          try {
            done.get();
          } catch (RuntimeException error) {
            failure.compareAndSet(null, error);
          }
        });
  }

  /** Cleans up after an error, which counts for more than what goes wrong now. */
  private static void suppress(RuntimeException error, Runnable cleanUp) {
    try {
      cleanUp.run();
    } catch (RuntimeException second) {
      error.addSuppressed(second);
    }
  }

  private void requireNoFailure(LoadTarget target) {
    Throwable error = failure.get();
    if (error != null) {
      throw notWritten(target, error);
    }
  }

  private static TensorFlowIgniteException notWritten(LoadTarget target, Throwable error) {
    return new TensorFlowIgniteException(
        ErrorCode.INTERNAL_ERROR,
        String.format(
            "rows could not be written into cache %s: %s; a load writes all its rows or fails; see"
                + " the nodes' logs, and load again",
            target.cache(), error),
        error);
  }

  private void requireAll(LoadTarget target) {
    if (!target.made()) {
      return;
    }
    long stored = target.size();
    if (stored != rows) {
      throw new TensorFlowIgniteException(
          ErrorCode.ROW_MISMATCH,
          String.format(
              "%d rows were loaded into cache %s, but it holds %d; each row needs a key of its own;"
                  + " make the keys unique, or let them be counted",
              rows, target.cache(), stored));
    }
  }
}
