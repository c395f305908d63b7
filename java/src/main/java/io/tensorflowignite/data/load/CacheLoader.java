package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.data.schema.Schemas;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.Ignite;

/** Loads record batches into a cache, as objects: all of them, or what it made is removed. */
public final class CacheLoader {
  private final Ignite ignite;
  private final Schemas schemas;
  private final SchemaStore store;
  private final ExecutorService executor;

  public CacheLoader(Ignite ignite, Schemas schemas, SchemaStore store, ExecutorService executor) {
    this.ignite = ignite;
    this.schemas = schemas;
    this.store = store;
    this.executor = executor;
  }

  /** Makes the cache when it does not exist, and removes it when the load fails. */
  public LoadResult load(LoadCommand command, BatchSource batches) {
    LoadPlan plan = LoadPlan.of(command, batches.schema());
    LoadTarget target = LoadTarget.prepare(ignite, schemas, store, plan);
    try {
      long rows = stream(plan, target, batches);
      requireAll(target, rows);
      return LoadResult.newBuilder().setRows(rows).build();
    } catch (RuntimeException error) {
      suppress(error, target::discard);
      throw error;
    }
  }

  private long stream(LoadPlan plan, LoadTarget target, BatchSource batches) {
    RowStreamer streamer = new RowStreamer(ignite, executor, plan, target);
    try {
      for (VectorSchemaRoot batch = batches.next(); batch != null; batch = batches.next()) {
        streamer.add(batch);
      }
      if (plan.command().getSealed()) {
        requireSeal(target, streamer.rows(), batches.seal());
      }
      streamer.finish();
    } catch (RuntimeException error) {
      RuntimeException first = streamer.first(error);
      suppress(first, streamer::end);
      throw first;
    }
    return streamer.rows();
  }

  /** Cleans up after an error, which counts for more than what goes wrong now. */
  private static void suppress(RuntimeException error, Runnable cleanUp) {
    try {
      cleanUp.run();
    } catch (RuntimeException second) {
      error.addSuppressed(second);
    }
  }

  private static void requireSeal(LoadTarget target, long rows, OptionalLong seal) {
    if (seal.isEmpty() || seal.getAsLong() != rows) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the rows for cache %s ended after %d, %s; a load writes all its rows or fails; load"
                  + " again",
              target.cache(),
              rows,
              seal.isEmpty()
                  ? "and their sender did not say that it was done"
                  : "but " + seal.getAsLong() + " were sent"));
    }
  }

  private static void requireAll(LoadTarget target, long rows) {
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
