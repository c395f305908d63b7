package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.data.read.BatchWriter;
import io.tensorflowignite.data.read.OwnershipCheck;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.PartitionPin;
import io.tensorflowignite.data.read.ReadPace;
import io.tensorflowignite.data.read.RowReader;
import java.sql.Timestamp;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.FieldsQueryCursor;

/**
 * Reads the rows of primary partitions of this node that a condition or SELECT selects. One query
 * reads all partitions, since SQL's indexes span partitions: the rows are unordered.
 */
public final class SqlReader implements RowReader {
  private final IgniteCache<Object, Object> cache;
  private final SqlQueries queries;
  private final PartitionOwners owners;
  private final SqlSource source;
  private final UnaryOperator<Object> keys;
  private final UnaryOperator<Object> values;

  /**
   * @param source has the other caches of a SELECT
   * @param entity the classes of the keys and values of a condition; null: rows of a SELECT
   */
  SqlReader(
      IgniteCache<Object, Object> cache,
      SqlQueries queries,
      PartitionOwners owners,
      SqlSource source,
      QueryEntity entity) {
    this.cache = cache;
    this.queries = queries;
    this.owners = owners;
    this.source = source;
    keys = entity == null ? null : conversion(entity.findKeyType());
    values = entity == null ? null : conversion(entity.findValueType());
  }

  @Override
  public void read(
      List<Integer> partitions,
      OwnershipCheck ownership,
      BatchWriter writer,
      BatchSink sink,
      ReadPace pace)
      throws InterruptedException {
    List<Integer> here =
        partitions.stream()
            .filter(ownership::isPrimaryHere)
            .collect(Collectors.toUnmodifiableList());
    // A stream may have waited for its turn until its caller has left.
    if (here.isEmpty() || SqlQueries.Cancellation.callHasEnded()) {
      return;
    }
    try (PartitionPin hold = PartitionPin.of(cache, here, owners);
        SqlSource.Pins more = source.pin(here)) {
      for (List<Integer> part : queries.parts(here, hold.rows())) {
        if (!run(part, writer, sink, pace)) {
          return;
        }
      }
    }
    // The pinned rows are here, but the query has skipped a partition that moved before it began.
    requirePrimaryHere(here);
    if (!writer.isEmpty()) {
      sink.send(writer.take());
    }
  }

  private void requirePrimaryHere(List<Integer> partitions) {
    partitions.forEach(owners::requirePrimaryHere);
    source.otherOwners().forEach(each -> partitions.forEach(each::requirePrimaryHere));
  }

  private boolean run(List<Integer> partitions, BatchWriter writer, BatchSink sink, ReadPace pace)
      throws InterruptedException {
    Set<Integer> requested = new HashSet<>(partitions);
    try (FieldsQueryCursor<List<?>> rows = queries.rows(partitions);
        SqlQueries.Cancellation cancellation = new SqlQueries.Cancellation(rows)) {
      for (List<?> row : rows) {
        Object key = row.get(row.size() - 1);
        if (queries.returnAllPartitions() && !requested.contains(owners.partition(key))) {
          continue;
        }
        if (values == null) {
          writer.append(key, row);
        } else {
          writer.append(keys.apply(key), values.apply(row.get(0)));
        }
        if (writer.isFull() && !sink.send(writer.take())) {
          return false;
        }
        pace.afterRow();
      }
      return true;
    } catch (RuntimeException failure) {
      if (SqlQueries.Cancellation.callHasEnded()) {
        return false;
      }
      requirePrimaryHere(partitions);
      throw SqlText.translate(queries.text(), failure);
    }
  }

  /** Converts to the stored class: SQL returns some classes as others. */
  private static UnaryOperator<Object> conversion(String type) {
    if (Date.class.getName().equals(type)) {
      return value -> value instanceof Timestamp ? new Date(((Timestamp) value).getTime()) : value;
    }
    if (Character.class.getName().equals(type)) {
      return value -> value instanceof String ? (Object) ((String) value).charAt(0) : value;
    }
    return UnaryOperator.identity();
  }
}
