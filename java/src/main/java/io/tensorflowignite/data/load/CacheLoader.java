package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongConsumer;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.Ignite;

/**
 * Loads record batches into a cache, as objects. If a load fails, the cache it created is removed.
 */
public final class CacheLoader {
  private final Ignite ignite;
  private final SchemaResolver schemas;
  private final SchemaStore store;

  public CacheLoader(Ignite ignite, SchemaResolver schemas, SchemaStore store) {
    this.ignite = ignite;
    this.schemas = schemas;
    this.store = store;
  }

  /**
   * @param progress called after each batch with the number of rows that are stored
   */
  public LoadResult load(LoadCommand command, BatchSource batches, LongConsumer progress) {
    LoadPlan plan = new LoadPlan(command, batches.schema());
    try (CountedKeys keys = CountedKeys.of(ignite, plan)) {
      return load(plan, keys, batches, progress);
    }
  }

  private LoadResult load(
      LoadPlan plan, CountedKeys keys, BatchSource batches, LongConsumer progress) {
    LoadCommand command = plan.command;
    Optional<LoadTarget> prepared = LoadTarget.prepare(ignite, schemas, store, plan);
    if (prepared.isEmpty()) {
      return LoadResult.getDefaultInstance();
    }
    LoadTarget target = prepared.get();
    try {
      keys.requireNew(target);
      long rows = stream(plan, target, batches, progress);
      requireAll(plan, target, rows);
      LoadResult.Builder result = LoadResult.newBuilder().setRows(rows);
      if (command.getCountPartitions()) {
        result.putAllPartitionRows(target.partitionRows());
      }
      return result.build();
    } catch (RuntimeException error) {
      suppress(error, target::discard);
      throw error;
    }
  }

  private long stream(
      LoadPlan plan, LoadTarget target, BatchSource batches, LongConsumer progress) {
    RowWriter writer = new RowWriter(ignite, plan, target);
    try {
      for (VectorSchemaRoot batch = batches.next(); batch != null; batch = batches.next()) {
        writer.add(batch);
        progress.accept(writer.stored());
      }
      if (plan.command.getSealed()) {
        requireSeal(target, writer.rows(), batches.seal());
      }
      writer.finish();
    } catch (RuntimeException error) {
      RuntimeException first = writer.first(error);
      suppress(first, writer::end);
      throw first;
    }
    return writer.rows();
  }

  /** Cleans up after an error, and adds an error of the clean-up to it. */
  private static void suppress(RuntimeException error, Runnable cleanUp) {
    try {
      cleanUp.run();
    } catch (RuntimeException second) {
      error.addSuppressed(second);
    }
  }

  private static void requireSeal(LoadTarget target, long rows, OptionalLong seal) {
    if (seal.isEmpty() || seal.getAsLong() != rows) {
      throw invalidRequest(
          "the rows for cache %s ended after %d, %s; a load writes all its rows or fails; load"
              + " again",
          target.cache,
          rows,
          seal.isEmpty()
              ? "and the sender did not report the end"
              : "but " + seal.getAsLong() + " were sent");
    }
  }

  /**
   * Requires that a new cache holds every row: a row replaces another one with the same key, and a
   * node without backups may have ended.
   */
  private static void requireAll(LoadPlan plan, LoadTarget target, long rows) {
    if (!target.isNew) {
      return;
    }
    long stored = target.size();
    if (stored == rows) {
      return;
    }
    if (plan.key.isCounted()) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_DATA_LOST,
          "%d rows were loaded into cache %s, but the cache holds %d: Ignite lost rows while nodes"
              + " or other caches changed. A load writes all its rows or fails. Load again when"
              + " other loads have ended",
          rows,
          target.cache,
          stored);
    }
    throw TensorFlowIgniteException.of(
        ERROR_CODE_ROW_MISMATCH,
        "%d rows were loaded into cache %s, but the cache holds %d; each row needs its own key;"
            + " make the keys unique, or load without key= so that keys are counted",
        rows,
        target.cache,
        stored);
  }
}
