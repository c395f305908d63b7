package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.read.BatchCarrier;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.PartitionHold;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.RowReader;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.FieldsQueryCursor;

/**
 * Reads the rows of primary partitions of this node that a condition or SELECT lets through. One
 * query reads all partitions, since SQL's indexes go across them: rows come in no order.
 */
public final class SqlReader implements RowReader {
  private final IgniteCache<Object, Object> cache;
  private final SqlQueries queries;
  private final PartitionOwners owners;
  private final SqlStorage storage;

  /**
   * @param storage the writer takes the cache's values, as they are stored; null: rows of a SELECT
   */
  public SqlReader(
      IgniteCache<Object, Object> cache,
      SqlQueries queries,
      PartitionOwners owners,
      SqlStorage storage) {
    this.cache = cache;
    this.queries = queries;
    this.owners = owners;
    this.storage = storage;
  }

  @Override
  public void read(List<Integer> partitions, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    try (PartitionHold hold = PartitionHold.of(cache, partitions, owners)) {
      if (!run(partitions, writer, carrier)) {
        return;
      }
    }
    // All rows that were here are sent, but not those written to a new owner meanwhile.
    partitions.forEach(owners::requirePrimaryHere);
    if (!writer.isEmpty()) {
      carrier.send(writer.take());
    }
  }

  private boolean run(List<Integer> partitions, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    Set<Integer> wanted = new HashSet<>(partitions);
    try (FieldsQueryCursor<List<?>> rows = queries.rows(partitions)) {
      for (List<?> row : rows) {
        Object key = row.get(row.size() - 1);
        if (queries.comeFromAllPartitions() && !wanted.contains(owners.partition(key))) {
          continue;
        }
        if (storage == null) {
          writer.append(key, row);
        } else {
          writer.append(storage.key(key), storage.value(row.get(0)));
        }
        if (writer.full() && !carrier.send(writer.take())) {
          return false;
        }
      }
      return true;
    } catch (RuntimeException failure) {
      partitions.forEach(owners::requirePrimaryHere);
      throw SqlErrors.translate(queries.what(), failure);
    }
  }
}
