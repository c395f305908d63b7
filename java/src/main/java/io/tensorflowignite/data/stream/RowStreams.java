package io.tensorflowignite.data.stream;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.OwnershipCheck;
import io.tensorflowignite.data.read.ReadPace;
import io.tensorflowignite.data.read.ReadPaces;
import io.tensorflowignite.data.read.ReadTurns;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.data.read.ScanMemory;
import io.tensorflowignite.data.schema.CacheEntities;
import io.tensorflowignite.data.schema.SchemaResolver;
import io.tensorflowignite.settings.ReadRate;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.ignite.Ignite;

/**
 * Streams of this node's rows, for all transports. A stream that nobody reads keeps its batches:
 * the more streams there are, and the less memory is free, the smaller are new batches, so that
 * there is memory for another reader's.
 */
public final class RowStreams {
  /** ALTER TABLE on another node ends a moment before this node has the new columns. */
  private static final long ALTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final long ALTER_POLL_MILLIS = 50;

  /** Streams for which memory is left at any time. */
  private static final int SPARE_STREAMS = 16;

  /** Buffers grow by doubling: a batch takes up to twice its size. */
  private static final int GROWTH = 2;

  /** Counts of rows that conditions select, at the same time: a quarter of the API's threads. */
  private static final int MAX_COUNTS = 32;

  /** While the reader has not received one batch, the stream has built the next one. */
  private static final int BATCHES = 2;

  private final Ignite ignite;
  private final UUID localNode;
  private final SchemaResolver schemas;
  private final CacheLosses losses;
  private final ChangeFeeds feeds;
  private final long maxBatchBytes;
  private final LongSupplier freeBytes;
  private final ReadPaces paces;
  private final ReadCounts counts = new ReadCounts();
  private final ScanMemory scans = new ScanMemory();
  private final ReadTurns scanTurns = ReadTurns.ofScans();
  private final ReadTurns queryTurns = ReadTurns.ofQueries();
  // A count takes a thread of Ignite's query pool on each node, and others need these too.
  private final ReadTurns countTurns = ReadTurns.ofQueries();
  private final Semaphore countCalls = new Semaphore(MAX_COUNTS);
  private final AtomicInteger streams = new AtomicInteger();

  /**
   * @param freeBytes returns the memory that batches do not use yet
   * @param rate how fast all streams together may read
   */
  public RowStreams(
      Ignite ignite,
      UUID localNode,
      SchemaResolver schemas,
      CacheLosses losses,
      ChangeFeeds feeds,
      long maxBatchBytes,
      LongSupplier freeBytes,
      ReadRate rate) {
    paces = new ReadPaces(ignite, rate);
    this.losses = losses;
    this.feeds = feeds;
    this.maxBatchBytes = maxBatchBytes;
    this.freeBytes = freeBytes;
    this.ignite = ignite;
    this.localNode = localNode;
    this.schemas = schemas;
  }

  /**
   * The plan of a ticket: a command that names partitions of this node. Waits for a turn.
   *
   * @param authorize as in {@link #plan}
   */
  public ReadPlan planTicket(ReadCommand command, Consumer<String> authorize)
      throws InterruptedException {
    if (command.getPartitionsCount() == 0) {
      throw invalidRequest(
          "the ticket for cache %s names no partition; a node sends only named partitions; use the"
              + " tickets from GetFlightInfo",
          command.getCache());
    }
    return plan(command, authorize);
  }

  /**
   * The plan of a command. Waits for a turn.
   *
   * @param authorize throws unless the caller may read a cache; called for each cache that the
   *     command's SELECT reads beside the command's own
   */
  public ReadPlan plan(ReadCommand command, Consumer<String> authorize)
      throws InterruptedException {
    long end = System.nanoTime() + ALTER_NANOS;
    while (true) {
      scanTurns.begin();
      try {
        return new ReadPlan(ignite, localNode, schemas, losses, command, authorize);
      } catch (TensorFlowIgniteException e) {
        if (e.code() != ERROR_CODE_COLUMN_NOT_FOUND
            || CacheEntities.of(ignite, command.getCache()).isEmpty()
            || System.nanoTime() - end > 0) {
          throw e;
        }
      } finally {
        scanTurns.end();
      }
      TimeUnit.MILLISECONDS.sleep(ALTER_POLL_MILLIS);
    }
  }

  /**
   * Reads all rows of a plan into batches, and sends them to a sink.
   *
   * @param allocator memory of the batches; unused when this returns, except for batches that the
   *     sink still holds
   * @return the number of skipped rows, and the partitions that have moved
   */
  public ReadResult read(
      ReadPlan plan, BufferAllocator allocator, BatchSink sink, ReadCounts.Transport transport)
      throws InterruptedException {
    ReadTurns turns = plan.isQuery() ? queryTurns : scanTurns;
    turns.begin();
    ReadPace pace = paces.begin(plan.limit());
    streams.incrementAndGet();
    try (BatchWriter writer = plan.writer(allocator, this::batchBytes)) {
      OwnershipCheck ownership = plan.ownershipCheck();
      RowReader reader = plan.reader(scans, feeds);
      reader.read(
          plan.partitions(),
          ownership,
          writer,
          batch -> {
            pace.beforeBatch(batch);
            counts.add(transport, batch);
            return ReadTurns.pause(() -> sink.send(batch));
          },
          pace);
      // A partition that was lost meanwhile may have been read when it was empty already.
      plan.requireWhole();
      ReadResult.Builder result =
          ReadResult.newBuilder().setSkipped(writer.skipped()).addAllMoved(ownership.moved());
      reader.addTo(result);
      return result.build();
    } catch (RuntimeException error) {
      throw explained(plan, error);
    } finally {
      turns.end();
      paces.end(plan.limit());
      streams.decrementAndGet();
    }
  }

  /**
   * Rows in the partitions of a plan; -1 if its command has {@code uncounted}.
   *
   * @throws TensorFlowIgniteException LIMIT_EXCEEDED: this node counts for too many others, each of
   *     which keeps a thread of the API until its count is complete
   */
  public long count(ReadPlan plan) throws InterruptedException {
    if (!plan.countsByQuery()) {
      return plan.countRows();
    }
    if (!countCalls.tryAcquire()) {
      throw limitExceeded(
          "the rows of cache %s were not counted; a node counts rows that conditions select for at"
              + " most %d callers at once; try again later, or call another node",
          plan.caches().get(0), MAX_COUNTS);
    }
    try {
      countTurns.begin();
      try {
        return plan.countRows();
      } catch (RuntimeException error) {
        throw explained(plan, error);
      } finally {
        countTurns.end();
      }
    } finally {
      countCalls.release();
    }
  }

  /** Readers of a cache that is removed get errors of many kinds from Ignite. */
  private RuntimeException explained(ReadPlan plan, RuntimeException error) {
    List<String> removed = new ArrayList<>(plan.caches());
    try {
      removed.removeAll(ignite.cacheNames());
    } catch (IllegalStateException stopping) {
      return error;
    }
    return removed.isEmpty()
        ? error
        : new TensorFlowIgniteException(
            ERROR_CODE_CACHE_NOT_FOUND,
            String.format(
                "cache %s was removed while its rows were read; a read brings all rows or fails;"
                    + " load the cache again, or name another one",
                removed.get(0)),
            error);
  }

  /** What all streams have sent. */
  public ReadCounts counts() {
    return counts;
  }

  /** Number of streams that are open. */
  public int open() {
    return streams.get();
  }

  /** The largest batch that a stream may start now. */
  private long batchBytes() {
    long share = share(freeBytes.getAsLong(), streams.get());
    return Math.max(0, Math.min(maxBatchBytes, share));
  }

  /** The size of a new batch, such that other streams and spare ones get their batches too. */
  static long share(long freeBytes, int streams) {
    return freeBytes / (GROWTH * BATCHES * (streams + SPARE_STREAMS));
  }
}
