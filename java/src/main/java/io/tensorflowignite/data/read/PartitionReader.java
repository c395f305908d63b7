package io.tensorflowignite.data.read;

import io.tensorflowignite.ignite.LocalPartition;
import java.util.Iterator;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * Scans primary partitions of this node, and sends their rows in batches. For one stream: not
 * thread-safe.
 */
public final class PartitionReader implements RowReader {
  private final IgniteCache<Object, Object> cache;
  private final PartitionOwners owners;
  private final Predicate<Object> keys;
  private final ScanMemory memory;
  private final IntConsumer begin;

  /** Size of the first rows that were found; 0: none yet. */
  private long rowBytes;

  /**
   * @param cache kept binary
   * @param keys whether the row of a key is read
   * @param begin called with the number of each partition before its rows
   */
  public PartitionReader(
      IgniteCache<Object, Object> cache,
      PartitionOwners owners,
      Predicate<Object> keys,
      ScanMemory memory,
      IntConsumer begin) {
    this.cache = cache;
    this.owners = owners;
    this.keys = keys;
    this.memory = memory;
    this.begin = begin;
  }

  /**
   * Reads the partitions in their order. A partition that moves during its scan is read to its end:
   * Ignite keeps its rows while the scan is open, and rows that its new owner receives meanwhile
   * did not exist when the scan began.
   */
  @Override
  public void read(
      List<Integer> partitions,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    for (int partition : partitions) {
      if (!scan(partition, key -> true, ownership, writer, sink, pace)) {
        return;
      }
    }
    if (!writer.isEmpty()) {
      sink.send(writer.take());
    }
  }

  /**
   * Reads one partition; the rows of the last batch stay in the writer.
   *
   * @param some whether the row of a key is read, of those that this reader reads
   * @return false if the reader has left
   */
  public boolean scan(
      int number,
      Predicate<Object> some,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    if (!ownership.isPrimaryHere(number)) {
      return true;
    }
    begin.accept(number);
    boolean hasRows = false;
    try (LocalPartition partition = LocalPartition.reserve(cache, number)) {
      if (rowBytes == 0) {
        rowBytes = ScanMemory.rowBytes(partition);
      }
      long bytes = ScanMemory.estimate(partition, rowBytes);
      boolean hasMemory = memory.reserve(bytes);
      // Without memory for a scan, rows are looked up one by one: slower if they are small.
      try (QueryCursor<Cache.Entry<Object, Object>> scan = hasMemory ? scan(number) : null) {
        Iterator<Cache.Entry<Object, Object>> rows = hasMemory ? scan.iterator() : partition.rows();
        while (rows.hasNext()) {
          Cache.Entry<Object, Object> row = rows.next();
          hasRows = true;
          if (keys.test(row.getKey()) && some.test(row.getKey())) {
            writer.append(row.getKey(), row.getValue());
            if (writer.isFull() && !sink.send(writer.take())) {
              return false;
            }
          }
          pace.afterRow();
        }
      } finally {
        if (hasMemory) {
          memory.release(bytes);
        }
      }
      if (!hasRows) {
        // The partition may have moved, with all its rows, before it was reserved.
        ownership.isPrimaryHere(number);
      }
      return true;
    } catch (CacheException | IgniteException failure) {
      if (owners.isPrimaryHere(number)) {
        throw failure;
      }
      if (hasRows) {
        throw owners.notPrimaryHere(number, failure);
      }
      ownership.skip(number, failure);
      return true;
    }
  }

  private QueryCursor<Cache.Entry<Object, Object>> scan(int partition) {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    return cache.query(query);
  }
}
