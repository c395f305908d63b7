package io.tensorflowignite.data.read;

import java.util.List;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * Scans primary partitions of this node, and hands their rows over in batches. Knows nothing of how
 * batches travel.
 */
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

  /** Reads the partitions in their order. */
  @Override
  public void read(List<Integer> partitions, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    for (int partition : partitions) {
      owners.requirePrimaryHere(partition);
      if (!scan(partition, writer, carrier)) {
        return;
      }
      // A scan that began in time ends with all rows, but not with those written to the new owner
      // meanwhile.
      owners.requirePrimaryHere(partition);
    }
    if (!writer.isEmpty()) {
      carrier.send(writer.take());
    }
  }

  private boolean scan(int partition, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    try (QueryCursor<Cache.Entry<Object, Object>> rows = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : rows) {
        writer.append(row.getKey(), row.getValue());
        if (writer.full() && !carrier.send(writer.take())) {
          return false;
        }
      }
      return true;
    } catch (CacheException | IgniteException failure) {
      if (!owners.isPrimaryHere(partition)) {
        throw owners.notPrimaryHere(partition, failure);
      }
      throw failure;
    }
  }
}
