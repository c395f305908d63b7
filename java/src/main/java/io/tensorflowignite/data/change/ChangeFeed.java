package io.tensorflowignite.data.change;

import io.tensorflowignite.data.read.ReadTurns;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.ignite.LocalCache;
import io.tensorflowignite.v1.PartitionPosition;
import java.time.Duration;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import javax.cache.Cache;
import javax.cache.event.CacheEntryEvent;
import javax.cache.event.EventType;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;

/**
 * The changes of one cache in the primary partitions of this node, noticed by a local continuous
 * query, which sends no message and keeps no queue. Ignite calls it after it has stored a change
 * and while it keeps the row locked. So a scan that begins after a position was taken has all
 * changes before it, and all others have later numbers.
 *
 * <p>An update that began before the query was registered may not be noticed: positions begin a
 * little later. Ignite notices neither <code>clear()</code> nor rows that expired on a node that
 * was down: a partition whose number of rows is not the expected one has no valid positions.
 */
final class ChangeFeed implements AutoCloseable {
  /** More threads than change rows of one partition at the same moment. */
  private static final long CHANGES_IN_PROGRESS = 256;

  private static final Duration QUIET = Duration.ofMillis(100);

  /** A partition keeps at least this number of changes, and at most half as many as its rows. */
  private static final long LEAST_CHANGES = 1_024;

  private static final long ROWS_OF_A_CHANGE = 2;

  private static final long NOT_COUNTED = Long.MIN_VALUE;

  private final long positionsBeginAt;
  private final LocalCache local;
  private final PartitionLog[] logs;
  private final long[] limits;

  /** The rows of a partition when its log began; below 0 if later ones were removed unnoticed. */
  private final long[] rows;

  private final BitSet primaries = new BitSet();
  private final LongAdder changes = new LongAdder();
  private final QueryCursor<Cache.Entry<Object, Object>> cursor;
  private volatile long usedAt = System.nanoTime();
  private volatile boolean isBroken;

  private ChangeFeed(IgniteCache<Object, Object> cache, ChangeMemory memory, Duration grace) {
    local = new LocalCache(cache);
    int partitions = local.partitions();
    logs = new PartitionLog[partitions];
    limits = new long[partitions];
    rows = new long[partitions];
    for (int partition = 0; partition < partitions; partition++) {
      logs[partition] = new PartitionLog(partition, memory);
      limits[partition] = LEAST_CHANGES;
      rows[partition] = NOT_COUNTED;
    }
    ContinuousQuery<Object, Object> query = new ContinuousQuery<>();
    query.setLocal(true);
    query.setIncludeExpired(true);
    query.setLocalListener(this::notice);
    cursor = cache.query(query);
    positionsBeginAt = System.nanoTime() + grace.toNanos();
    follow();
  }

  /**
   * @param cache kept binary
   * @param grace the time until positions begin
   */
  static ChangeFeed open(IgniteCache<Object, Object> cache, ChangeMemory memory, Duration grace) {
    return new ChangeFeed(cache, memory, grace);
  }

  /** Runs in the thread of the change: an exception would fail the caller's commit. */
  private void notice(Iterable<CacheEntryEvent<?, ?>> events) {
    for (CacheEntryEvent<?, ?> event : events) {
      try {
        Object key = event.getKey();
        int partition = local.partition(key);
        logs[partition].add(key, limits[partition], created(event), System.nanoTime());
        changes.increment();
      } catch (RuntimeException | LinkageError missed) {
        forget();
      }
    }
  }

  private static int created(CacheEntryEvent<?, ?> event) {
    EventType type = event.getEventType();
    return type == EventType.CREATED ? 1 : type == EventType.UPDATED ? 0 : -1;
  }

  /** Compares the primary partitions of this node; no row changes meanwhile. */
  synchronized void follow() {
    BitSet present = local.primaries();
    for (int partition = 0; partition < logs.length; partition++) {
      if (present.get(partition) != primaries.get(partition)) {
        primaries.flip(partition);
        logs[partition].forget();
        rows[partition] = NOT_COUNTED;
      }
    }
  }

  /** The time until positions begin; 0: they have begun. */
  long graceMillis() {
    long left = positionsBeginAt - System.nanoTime();
    return left <= 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(left) + 1;
  }

  /** The position of a partition, before its rows are read; without a feed: none yet. */
  PartitionPosition position(int partition) {
    usedAt = System.nanoTime();
    if (isBroken || graceMillis() > 0) {
      return PartitionPosition.newBuilder().setPartition(partition).build();
    }
    compare(partition);
    return logs[partition].position();
  }

  /**
   * The keys that have changed between two positions of one partition; empty: this feed does not
   * know them all.
   */
  Optional<Collection<Object>> between(PartitionPosition since, PartitionPosition end) {
    return isBroken ? Optional.empty() : logs[since.getPartition()].between(since, end);
  }

  /** Whether something has changed since a position, or that is not known. */
  boolean hasChanged(PartitionPosition position) {
    return isBroken || logs[position.getPartition()].hasChanged(position);
  }

  /** Ends this feed: no position is valid any more, and another feed is opened. */
  void end() {
    isBroken = true;
    forget();
  }

  boolean isBroken() {
    return isBroken;
  }

  /** Makes all positions invalid. */
  private void forget() {
    for (PartitionLog log : logs) {
      log.forget();
    }
  }

  /** Grows with each change. */
  long changes() {
    usedAt = System.nanoTime();
    return changes.sum();
  }

  boolean isIdleFor(Duration duration) {
    return System.nanoTime() - usedAt >= duration.toNanos();
  }

  /**
   * Compares the numbers of rows with the expected ones; positions are not valid any more where
   * they differ. Waits a little if they do: a change is stored before it is noticed.
   */
  void verify(Collection<Integer> partitions) throws InterruptedException {
    List<Integer> differing =
        partitions.stream().filter(this::compare).collect(Collectors.toList());
    if (differing.isEmpty()) {
      return;
    }
    ReadTurns.<Void>pause(
        () -> {
          Thread.sleep(QUIET.toMillis());
          return null;
        });
    for (int partition : differing) {
      if (compare(partition)) {
        forget(partition);
      }
    }
  }

  /**
   * Compares the number of rows with the expected one, which begins with the first comparison.
   *
   * @return whether they differ, although nothing has changed lately
   */
  private boolean compare(int partition) {
    OptionalLong found = local.rows(partition);
    if (found.isEmpty()) {
      logs[partition].forget();
      return false;
    }
    return compare(partition, found.getAsLong());
  }

  private synchronized void forget(int partition) {
    logs[partition].forget();
    rows[partition] = NOT_COUNTED;
  }

  private synchronized boolean compare(int partition, long found) {
    PartitionLog log = logs[partition];
    long expected = log.expected(rows[partition]);
    limits[partition] = Math.max(LEAST_CHANGES, found / ROWS_OF_A_CHANGE);
    if (rows[partition] != NOT_COUNTED && Math.abs(found - expected) > CHANGES_IN_PROGRESS) {
      forget(partition);
    }
    if (rows[partition] == NOT_COUNTED) {
      rows[partition] = found - log.expected(0);
      return false;
    }
    return found != expected && log.isQuiet(System.nanoTime(), QUIET.toNanos());
  }

  /** Ignores the error of a stopping node or cache, which ends its queries itself. */
  @Override
  public void close() {
    isBroken = true;
    try {
      cursor.close();
    } catch (RuntimeException e) {
      if (!Causes.isStoppingNode(e) && !Causes.isStoppedCache(e)) {
        throw e;
      }
    } finally {
      forget();
    }
  }
}
