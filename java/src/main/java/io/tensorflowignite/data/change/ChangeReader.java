package io.tensorflowignite.data.change;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.OwnershipCheck;
import io.tensorflowignite.data.read.PartitionReader;
import io.tensorflowignite.data.read.ReadPace;
import io.tensorflowignite.data.read.ReadTurns;
import io.tensorflowignite.data.read.RowReader;
import io.tensorflowignite.ignite.LocalPartition;
import io.tensorflowignite.v1.PartitionPosition;
import io.tensorflowignite.v1.ReadCommand;
import io.tensorflowignite.v1.ReadResult;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.CachePeekMode;

/**
 * Reads what has changed in primary partitions of this node since positions: the present rows of
 * the changed keys, and the removed rows or their identities; and, if the command says so, a sample
 * of the rows that have not changed. A partition without a valid position is read whole. The result
 * has the positions after the read. For one stream.
 */
final class ChangeReader implements RowReader {
  private static final int IDENTITY_BYTES = 16;

  /** More removed rows of a stream than this: the partition is read whole. */
  private static final int MAX_REMOVED = 65_536;

  private static final long POLL_MILLIS = 5;

  private final IgniteCache<Object, Object> cache;
  private final ChangeFeed feed;
  private final RowIdentity identity;
  private final KeySelection selection;
  private final PartitionReader scans;
  private final Map<Integer, PartitionPosition> since;
  private final ReadCommand command;
  private final List<PartitionPosition> positions = new ArrayList<>();
  private final List<Integer> whole = new ArrayList<>();
  private final ByteString.Output removed = ByteString.newOutput();

  /**
   * @param cache kept binary
   * @param identity makes the columns that identify rows
   * @param selection which rows are read
   * @param since the positions, by partition
   * @param command says how long to wait for a first change, and how removed rows are sent
   */
  ChangeReader(
      IgniteCache<Object, Object> cache,
      ChangeFeed feed,
      RowIdentity identity,
      KeySelection selection,
      PartitionReader scans,
      Map<Integer, PartitionPosition> since,
      ReadCommand command) {
    this.cache = cache;
    this.feed = feed;
    this.identity = identity;
    this.selection = selection;
    this.scans = scans;
    this.since = since;
    this.command = command;
  }

  @Override
  public void read(
      List<Integer> partitions,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    ReadTurns.pause(() -> awaitChange(partitions));
    feed.verify(partitions);
    double sampled = command.hasReplay() ? sampledPart(partitions, ownership) : 0;
    for (int partition : partitions) {
      // The count for a sample may have found that the partition has moved.
      if (ownership.moved().contains(partition) || !ownership.isPrimaryHere(partition)) {
        continue;
      }
      if (command.getPositionsOnly()) {
        positions.add(feed.position(partition));
        continue;
      }
      identity.partition(partition);
      if (!read(partition, sampled, ownership, writer, sink, pace)) {
        return;
      }
    }
    if (!writer.isEmpty()) {
      sink.send(writer.take());
    }
  }

  private double sampledPart(List<Integer> partitions, OwnershipCheck ownership) {
    long changed = 0;
    long rows = 0;
    for (int partition : partitions) {
      Optional<Collection<Object>> keys = changed(feed.position(partition));
      if (keys.isPresent() && ownership.isPrimaryHere(partition)) {
        changed += countPresent(partition, keys.get(), ownership);
        rows += cache.localSizeLong(partition, CachePeekMode.PRIMARY);
      }
    }
    return selection.sampledPart(changed, rows);
  }

  /** The number of rows that are read of changed keys; those that were removed are none. */
  private long countPresent(int partition, Collection<Object> keys, OwnershipCheck ownership) {
    try (LocalPartition local = reserve(partition, ownership)) {
      return local == null
          ? 0
          : keys.stream().filter(key -> selection.has(key) && local.row(key) != null).count();
    }
  }

  /** Null: the partition has moved. */
  private LocalPartition reserve(int partition, OwnershipCheck ownership) {
    try {
      return LocalPartition.reserve(cache, partition);
    } catch (IgniteException failure) {
      if (ownership.isPrimaryHere(partition)) {
        throw failure;
      }
      return null;
    }
  }

  /** The keys that have changed before a position; empty: they are not known. */
  private Optional<Collection<Object>> changed(PartitionPosition end) {
    return Optional.ofNullable(since.get(end.getPartition()))
        .flatMap(begin -> feed.between(begin, end));
  }

  private boolean read(
      int partition,
      double sampled,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    PartitionPosition position = feed.position(partition);
    // Later changes come with the next read.
    Optional<Collection<Object>> changed = changed(position);
    int moved = ownership.moved().size();
    boolean goesOn;
    if (changed.isPresent() && removed.size() < MAX_REMOVED * IDENTITY_BYTES) {
      Collection<Object> keys = changed.get();
      // Keys may be arrays, which are equal to none; of two keys of one hash, one is not sampled.
      Set<Long> hashes =
          sampled == 0 ? Set.of() : keys.stream().map(identity::high).collect(Collectors.toSet());
      Predicate<Object> others =
          key -> selection.isSampled(key, sampled) && !hashes.contains(identity.high(key));
      goesOn =
          readRows(partition, keys, ownership, writer, sink, pace)
              && (sampled == 0 || scans.scan(partition, others, ownership, writer, sink, pace));
    } else {
      whole.add(partition);
      goesOn = scans.scan(partition, key -> true, ownership, writer, sink, pace);
    }
    if (ownership.moved().size() == moved) {
      positions.add(position);
    } else {
      whole.remove((Integer) partition);
    }
    return goesOn;
  }

  private boolean readRows(
      int partition,
      Collection<Object> keys,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    if (keys.isEmpty()) {
      return true;
    }
    ByteBuffer bytes = ByteBuffer.allocate(IDENTITY_BYTES);
    try (LocalPartition local = reserve(partition, ownership)) {
      if (local == null) {
        return true;
      }
      for (Object key : keys) {
        if (!selection.has(key)) {
          continue;
        }
        Cache.Entry<Object, Object> row = local.row(key);
        boolean isSent =
            row == null
                ? command.getDeletions() && writer.append(key, null)
                : writer.append(row.getKey(), row.getValue());
        if (!isSent) {
          // Of a row that does not fit any more, too, the reader must not keep the old values.
          bytes.clear();
          identity.put(key, bytes);
          removed.write(bytes.array(), 0, IDENTITY_BYTES);
        }
        if (writer.isFull() && !sink.send(writer.take())) {
          return false;
        }
        pace.afterRow();
      }
    }
    return true;
  }

  /** Returns after the first change of these partitions, or the time, or the end of the call. */
  private Void awaitChange(List<Integer> partitions) throws InterruptedException {
    long waitMillis = command.getWaitMillis();
    if (waitMillis == 0) {
      return null;
    }
    Thread.sleep(Math.min(waitMillis, feed.graceMillis()));
    if (command.getPositionsOnly() || since.size() < partitions.size()) {
      return null;
    }
    Context call = Context.current();
    long begin = System.nanoTime();
    long known = -1;
    while (System.nanoTime() - begin < TimeUnit.MILLISECONDS.toNanos(waitMillis)
        && !call.isCancelled()) {
      long changes = feed.changes();
      if (changes != known && since.values().stream().anyMatch(feed::hasChanged)) {
        break;
      }
      known = changes;
      Thread.sleep(POLL_MILLIS);
    }
    return null;
  }

  @Override
  public void addTo(ReadResult.Builder result) {
    result.addAllPositions(positions).addAllWhole(whole).setRemoved(removed.toByteString());
  }
}
