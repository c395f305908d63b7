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
 * Keeps the rows of partitions on this node while it is open, even if the partitions move. An open
 * scan does this; a local SQL query does not, and misses rows that Ignite removes before the query
 * reads them.
 */
public final class PartitionPin implements AutoCloseable {
  private final List<QueryCursor<?>> scans = new ArrayList<>();

  public static PartitionPin of(
      IgniteCache<Object, Object> cache, List<Integer> partitions, PartitionOwners owners) {
    PartitionPin pin = new PartitionPin();
    for (int partition : partitions) {
      owners.requirePrimaryHere(partition);
      try {
        pin.add(cache, partition);
      } catch (CacheException | IgniteException failure) {
        pin.close();
        if (!owners.isPrimaryHere(partition)) {
          throw owners.notPrimaryHere(partition, failure);
        }
        throw failure;
      }
    }
    return pin;
  }

  private void add(IgniteCache<Object, Object> cache, int partition) {
    ScanQuery<Object, Object> query = new ScanQuery<>(partition);
    query.setLocal(true);
    QueryCursor<Cache.Entry<Object, Object>> scan = cache.query(query);
    scans.add(scan);
    // close() ends the scan only of a cursor whose iterator was requested.
    scan.iterator();
  }

  @Override
  public void close() {
    scans.forEach(QueryCursor::close);
    scans.clear();
  }
}
