package io.tensorflowignite.data.read;

import java.util.ArrayList;
import java.util.List;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * Keeps the rows of partitions on this node, even if the partitions move. A local SQL query does
 * not do so by itself: rows that are cleared away before it comes to them are missing without a
 * word. A scan does, as long as it is open.
 */
public final class PartitionHold implements AutoCloseable {
  private final List<QueryCursor<?>> scans = new ArrayList<>();

  public static PartitionHold of(
      IgniteCache<Object, Object> cache, List<Integer> partitions, PartitionOwners owners) {
    PartitionHold hold = new PartitionHold();
    for (int partition : partitions) {
      owners.requirePrimaryHere(partition);
      try {
        hold.add(cache, partition);
      } catch (CacheException | IgniteException failure) {
        hold.close();
        if (!owners.isPrimaryHere(partition)) {
          throw owners.notPrimaryHere(partition, failure);
        }
        throw failure;
      }
    }
    return hold;
  }

  private void add(IgniteCache<Object, Object> cache, int partition) {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    QueryCursor<Cache.Entry<Object, Object>> scan = cache.query(query);
    scans.add(scan);
    // A cursor that was never asked for its rows does not end its scan when it is closed.
    scan.iterator();
  }

  @Override
  public void close() {
    scans.forEach(QueryCursor::close);
    scans.clear();
  }
}
