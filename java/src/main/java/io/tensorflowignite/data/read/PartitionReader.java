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

  /**
   * Reads the partitions in their order. One that moves while it is scanned is read to its end:
   * Ignite keeps its rows for as long as the scan is open, and what is written to its new owner
   * meanwhile was not there when the scan began.
   */
  @Override
  public void read(
      List<Integer> partitions, PartitionTurns turns, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    for (int partition : partitions) {
      if (turns.comesHere(partition) && !scan(partition, turns, writer, carrier)) {
        return;
      }
    }
    if (!writer.isEmpty()) {
      carrier.send(writer.take());
    }
  }

  private boolean scan(
      int partition, PartitionTurns turns, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    boolean begun = false;
    try (QueryCursor<Cache.Entry<Object, Object>> rows = cache.query(query)) {
      for (Cache.Entry<Object, Object> row : rows) {
        begun = true;
        writer.append(row.getKey(), row.getValue());
        if (writer.full() && !carrier.send(writer.take())) {
          return false;
        }
      }
      if (!begun) {
        // It may have moved, with all its rows, before the scan began.
        turns.comesHere(partition);
      }
      return true;
    } catch (CacheException | IgniteException failure) {
      if (owners.isPrimaryHere(partition)) {
        throw failure;
      }
      if (begun) {
        throw owners.notPrimaryHere(partition, failure);
      }
      turns.leaveOut(partition, failure);
      return true;
    }
  }
}
