package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;

import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.region.CacheSpread;
import io.tensorflowignite.region.Reservation;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * Writes batches into a cache. Creating an object takes about as long as storing it, so several
 * threads share the rows of a batch. They end with the load: as long as a thread lives, Ignite
 * keeps the buffer in which it has created its largest object.
 */
final class RowWriter {
  private static final int MAX_THREADS = 8;

  private static final long WAIT_MILLIS = 20;
  private static final long MAX_WAIT_SECONDS = 30;

  private static final ThreadFactory THREADS = IdleThreads.daemons("tensorflow-ignite-load-%d");

  private final Ignite ignite;
  private final LoadPlan plan;
  private final LoadTarget target;
  private final ChunkWriter chunks;
  private final CacheSpread spread;

  private final Set<PendingRows> pending = ConcurrentHashMap.newKeySet();
  private final LongAdder stored = new LongAdder();
  private final int threads = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors());
  private final ExecutorService executor = Executors.newFixedThreadPool(threads, THREADS);
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private long rows;

  RowWriter(Ignite ignite, LoadPlan plan, LoadTarget target) {
    this.ignite = ignite;
    this.plan = plan;
    this.target = target;
    chunks = chunks();
    spread = new CacheSpread(ignite, target.cache);
  }

  @SuppressWarnings("unchecked")
  private ChunkWriter chunks() {
    IgniteCache<Object, Object> cache = ignite.cache(target.cache).withKeepBinary();
    boolean isAtomic =
        cache.getConfiguration(CacheConfiguration.class).getAtomicityMode()
            == CacheAtomicityMode.ATOMIC;
    return isAtomic ? new PutChunks(cache, this::failed) : new PutRows(cache);
  }

  /** Number of rows so far. */
  long rows() {
    return rows;
  }

  /** Number of rows that are stored, in whole chunks. */
  long stored() {
    return stored.sum();
  }

  /** Returns when the batch is no longer used. */
  void add(VectorSchemaRoot batch) {
    int count = batch.getRowCount();
    int parts = Math.min(threads, count);
    List<Future<?>> started = new ArrayList<>();
    RuntimeException error = null;
    BitSet replaced = replaced(batch);
    try {
      for (int part = 0; part < parts; part++) {
        int from = (int) ((long) count * part / parts);
        int to = (int) ((long) count * (part + 1) / parts);
        started.add(executor.submit(() -> add(batch, from, to, replaced)));
      }
    } finally {
      // Also when the JVM cannot start a thread: the other threads read from the batch.
      for (Future<?> part : started) {
        RuntimeException next = errorOf(part);
        error = error == null ? next : error;
      }
    }
    if (error != null) {
      throw error;
    }
    rows += count;
    if (!target.isNew) {
      // The same key may occur in the next batch: its later row is the one that stays.
      chunks.flush();
    }
    requireNoFailure();
  }

  /** Returns when every row is stored. */
  void finish() {
    end();
    requireNoFailure();
  }

  /** After an error: returns when no write is pending. */
  void end() {
    try {
      chunks.flush();
    } finally {
      executor.shutdown();
      pending.forEach(PendingRows::release);
    }
  }

  /** The error to report: a failed write if there was one, unless the error has a code itself. */
  RuntimeException first(RuntimeException error) {
    Throwable first = failure.get();
    return first == null || error instanceof TensorFlowIgniteException ? error : notWritten(first);
  }

  /**
   * The rows of a batch whose key a later row of the batch has, too: the later one is to stay, and
   * threads write the rows in any order. A new cache gets no key twice.
   */
  private BitSet replaced(VectorSchemaRoot batch) {
    BitSet replaced = new BitSet();
    if (target.isNew || plan.key.isCounted()) {
      return replaced;
    }
    RowObjects objects = new RowObjects(ignite.binary(), plan, target, batch);
    Map<Object, Integer> latest = new HashMap<>();
    try {
      for (int row = 0; row < batch.getRowCount(); row++) {
        Integer earlier = latest.put(objects.key(row, row), row);
        if (earlier != null) {
          replaced.set(earlier);
        }
      }
    } catch (MismatchException mismatch) {
      // The thread that gets the row reports it.
      return replaced;
    }
    return replaced;
  }

  private void add(VectorSchemaRoot batch, int from, int to, BitSet replaced) {
    RowObjects objects = new RowObjects(ignite.binary(), plan, target, batch);
    RowChunk chunk = new RowChunk();
    for (int row = from; row < to; row++) {
      try {
        Object key = objects.key(row, rows + row);
        BinaryObject value = objects.value(row);
        if (!replaced.get(row)) {
          chunk.add(key, value, spread.partition(key));
        }
      } catch (MismatchException mismatch) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_ROW_MISMATCH,
            "row %d for cache %s: column %s%s %s; every value must fit its column's type, and a key"
                + " has no null; change the row, or leave the column out",
            rows + row,
            target.cache,
            objects.column(),
            mismatch.path,
            mismatch.getMessage());
      }
      if (chunk.isFull() || (row == to - 1 && chunk.rows() > 0)) {
        send(chunk);
        chunk = new RowChunk();
      }
    }
  }

  private void send(RowChunk chunk) {
    PendingRows memory = reserve(chunk);
    try {
      chunks.write(chunk, memory);
    } catch (RuntimeException error) {
      failed(error);
    } finally {
      memory.added();
    }
  }

  private void failed(Throwable error) {
    failure.compareAndSet(null, error);
  }

  /**
   * Reserves the memory of rows on the nodes that will store them. Where little is free, rows on
   * their way are stored first: then their nodes count them exactly.
   */
  private synchronized PendingRows reserve(RowChunk chunk) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(MAX_WAIT_SECONDS);
    while (System.nanoTime() - deadline < 0) {
      Optional<Reservation> memory = Optional.empty();
      try {
        memory = spread.reserve(chunk.partitions, "rows of cache " + target.cache);
      } catch (TensorFlowIgniteException full) {
        if (!storeSent()) {
          throw full;
        }
      }
      if (memory.isPresent()) {
        return new PendingRows(memory.get(), chunk.rows(), stored, pending);
      }
      if (!storeSent()) {
        Uninterruptibles.sleepUninterruptibly(WAIT_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
    throw limitExceeded(
        "rows of cache %s were not written within %d s: rows of other loads are on their way and"
            + " need the memory that is free; load again when these have ended",
        target.cache, MAX_WAIT_SECONDS);
  }

  /** Stores the rows that have been sent; returns whether there were any. */
  private boolean storeSent() {
    List<PendingRows> sent =
        pending.stream().filter(PendingRows::isAdded).collect(Collectors.toList());
    if (!sent.isEmpty()) {
      chunks.flush();
      sent.forEach(PendingRows::release);
    }
    return !sent.isEmpty();
  }

  /** Waits for a part even if interrupted: its thread reads from the batch. */
  private static RuntimeException errorOf(Future<?> part) {
    try {
      Uninterruptibles.getUninterruptibly(part);
      return null;
    } catch (ExecutionException failed) {
      return failed.getCause() instanceof RuntimeException
          ? (RuntimeException) failed.getCause()
          : new IllegalStateException(failed.getCause());
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
        ERROR_CODE_INTERNAL_ERROR,
        String.format(
            "rows could not be written into cache %s: %s; a load writes all its rows or fails; see"
                + " the nodes' logs, and load again",
            target.cache, error),
        error);
  }
}
