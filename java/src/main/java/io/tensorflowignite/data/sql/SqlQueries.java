package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.read.PartitionOwners;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.processors.cache.query.QueryCursorEx;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/**
 * A checked SELECT as queries of Ignite. Ignite reads the partitions that are named of partitioned
 * caches only: of a replicated one each node sees every row, and whose partition a row belongs to
 * is to be seen from its key. Where queries run in parallel, Ignite 2.17 fails over partitions that
 * are named to a local query; one that is not local goes to this node alone for them.
 */
final class SqlQueries {
  /** Rows that a node holds in its heap at a time. */
  private static final int PAGE_ROWS = 256;

  private final IgniteCache<Object, Object> cache;
  private final RowSelect select;
  private final Object[] parameters;
  private final boolean replicated;
  private final boolean local;

  SqlQueries(IgniteCache<Object, Object> cache, RowSelect select, Object[] parameters) {
    this.cache = cache;
    this.select = select;
    this.parameters = parameters;
    CacheConfiguration<Object, Object> configuration = SqlCatalog.configuration(cache);
    replicated = configuration.getCacheMode() == CacheMode.REPLICATED;
    local = replicated || configuration.getQueryParallelism() == 1;
  }

  String what() {
    return select.what();
  }

  /** Whether rows of partitions that were not asked for come too. */
  boolean comeFromAllPartitions() {
    return replicated;
  }

  /** What Ignite tells of the columns, the key's at the end; nothing is run for it. */
  List<GridQueryFieldMetadata> metadata() {
    return SqlErrors.translating(
        what(),
        () -> {
          try (FieldsQueryCursor<List<?>> cursor =
              cache.query(query(select.rows(), parameters, true))) {
            // The public cursor tells names only.
            return ((QueryCursorEx<?>) cursor).fieldsMeta();
          }
        });
  }

  /** The rows of partitions that are on this node, in no order. */
  FieldsQueryCursor<List<?>> rows(List<Integer> partitions) {
    SqlFieldsQuery query = query(select.rows(), parameters, local);
    query.setPageSize(PAGE_ROWS);
    return cache.query(restrict(query, partitions));
  }

  /** Counted by the owners of the partitions, wherever these are. */
  long count(List<Integer> partitions, PartitionOwners owners) {
    Object[] values = select.ofCount(parameters);
    boolean all = partitions.size() == owners.count();
    if (replicated && !all) {
      return SqlErrors.translating(what(), () -> countByKey(partitions, owners, values));
    }
    SqlFieldsQuery query = query(select.count(), values, false);
    if (!all) {
      restrict(query, partitions);
    }
    return SqlErrors.translating(
        what(), () -> ((Number) cache.query(query).getAll().get(0).get(0)).longValue());
  }

  private long countByKey(List<Integer> partitions, PartitionOwners owners, Object[] values) {
    Set<Integer> wanted = new HashSet<>(partitions);
    SqlFieldsQuery query = query(select.keys(), values, false);
    long count = 0;
    try (FieldsQueryCursor<List<?>> keys = cache.query(query)) {
      for (List<?> key : keys) {
        count += wanted.contains(owners.partition(key.get(0))) ? 1 : 0;
      }
    }
    return count;
  }

  private SqlFieldsQuery restrict(SqlFieldsQuery query, List<Integer> partitions) {
    if (!replicated) {
      query.setPartitions(partitions.stream().mapToInt(Integer::intValue).toArray());
    }
    return query;
  }

  private static SqlFieldsQuery query(String text, Object[] values, boolean local) {
    return new SqlFieldsQuery(text).setArgs(values).setLocal(local);
  }
}
