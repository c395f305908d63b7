package io.tensorflowignite.data.read;

import java.util.List;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/** Scans primary partitions of this node, and sends their rows in batches. */
public final class PartitionReader implements RowReader {
  private final IgniteCache<Object, Object> cache;
  private final PartitionOwners owners;

  /**
   * @param cache kept binary
   */
  public PartitionReader(IgniteCache<Object, Object> cache, PartitionOwners owners) {
    this.cache = cache;
    this.owners = owners;
  }

  /**
   * Reads the partitions in their order. A partition that moves during its scan is read to its end:
   * Ignite keeps its rows while the scan is open, and rows that its new owner receives meanwhile
   * did not exist when the scan began.
   */
  @Override
  public void read(
      List<Integer> partitions, OwnershipCheck ownership, BatchWriter writer, BatchSink sink)
      throws InterruptedException {
    for (int partition : partitions) {
      if (ownership.isPrimaryHere(partition) && !scan(partition, ownership, writer, sink)) {
        return;
      }
    }
    if (!writer.isEmpty()) {
      sink.send(writer.take());
    }
  }

  private boolean scan(int partition, OwnershipCheck ownership, BatchWriter writer, BatchSink sink)
      throws InterruptedException {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    boolean hasRows = false;
    try (QueryCursor<Cache.Entry<Object, Object>> rows = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : rows) {
        hasRows = true;
        writer.append(row.getKey(), row.getValue());
        if (writer.isFull() && !sink.send(writer.take())) {
          return false;
        }
      }
      if (!hasRows) {
        // The partition may have moved, with all its rows, before the scan began.
        ownership.isPrimaryHere(partition);
      }
      return true;
    } catch (CacheException | IgniteException failure) {
      if (owners.isPrimaryHere(partition)) {
        throw failure;
      }
      if (hasRows) {
        throw owners.notPrimaryHere(partition, failure);
      }
      ownership.skip(partition, failure);
      return true;
    }
  }
}
