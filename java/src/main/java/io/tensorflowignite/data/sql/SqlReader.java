package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.read.BatchCarrier;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.PartitionHold;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.PartitionTurns;
import io.tensorflowignite.data.read.RowReader;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
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
  public void read(
      List<Integer> partitions, PartitionTurns turns, BatchWriter writer, BatchCarrier carrier)
      throws InterruptedException {
    List<Integer> here =
        partitions.stream().filter(turns::comesHere).collect(Collectors.toUnmodifiableList());
    if (here.isEmpty()) {
      return;
    }
    try (PartitionHold hold = PartitionHold.of(cache, here, owners)) {
      if (!run(here, writer, carrier)) {
        return;
      }
    }
    // All rows that were held are here, but SQL passes over those of a partition that moved before
    // it began.
    here.forEach(owners::requirePrimaryHere);
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
