package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.read.PartitionOwners;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.processors.cache.query.QueryCursorEx;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/**
 * Runs a checked SELECT as queries of Ignite. Ignite restricts a query to partitions only in a
 * partitioned cache. In a replicated cache a query reads all rows of the node, and a row's key
 * gives its partition. If the cache has a query parallelism, Ignite 2.17 fails on a local query
 * with partitions; a query that is not local then goes only to this node, which owns the
 * partitions.
 */
final class SqlQueries {
  /** Rows that a node holds in its heap at a time; a row may have many megabytes. */
  private static final int PAGE_ROWS = 16;

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

  String text() {
    return select.text();
  }

  /** Whether {@link #rows} returns rows of all partitions, and not only of the named ones. */
  boolean returnAllPartitions() {
    return replicated;
  }

  /** Ignite's metadata of the columns, the key last. Runs no query. */
  List<GridQueryFieldMetadata> metadata() {
    return SqlErrors.translating(
        text(),
        () -> {
          try (FieldsQueryCursor<List<?>> cursor =
              cache.query(query(select.rows(), parameters, true))) {
            // The public cursor has only the names.
            return ((QueryCursorEx<?>) cursor).fieldsMeta();
          }
        });
  }

  /** The rows of partitions of this node, unordered. */
  FieldsQueryCursor<List<?>> rows(List<Integer> partitions) {
    SqlFieldsQuery query = query(select.rows(), parameters, local);
    query.setPageSize(PAGE_ROWS);
    return cache.query(restrict(query, partitions));
  }

  /** Counts the rows of partitions of any node, on their owners. */
  long count(List<Integer> partitions, PartitionOwners owners) {
    Object[] values = select.ofCount(parameters);
    boolean all = partitions.size() == owners.count();
    if (replicated && !all) {
      return SqlErrors.translating(text(), () -> countByKey(partitions, owners, values));
    }
    SqlFieldsQuery query = query(select.count(), values, false);
    if (!all) {
      restrict(query, partitions);
    }
    return SqlErrors.translating(text(), () -> run(query, rows -> sum(rows.getAll())));
  }

  private <R> R run(SqlFieldsQuery query, Function<FieldsQueryCursor<List<?>>, R> use) {
    try {
      QueryCancellation.requireCall();
      try (FieldsQueryCursor<List<?>> rows = cache.query(query);
          QueryCancellation cancellation = new QueryCancellation(rows)) {
        return use.apply(rows);
      }
    } catch (RuntimeException failure) {
      QueryCancellation.requireCall();
      throw failure;
    }
  }

  /** If no key can meet the condition, as in BETWEEN 1 AND 0, Ignite asks no node: no count. */
  private static long sum(List<List<?>> counts) {
    return counts.stream().mapToLong(row -> ((Number) row.get(0)).longValue()).sum();
  }

  private long countByKey(List<Integer> partitions, PartitionOwners owners, Object[] values) {
    Set<Integer> requested = new HashSet<>(partitions);
    SqlFieldsQuery query = query(select.keys(), values, false);
    return run(
        query,
        keys -> {
          long count = 0;
          for (List<?> key : keys) {
            count += requested.contains(owners.partition(key.get(0))) ? 1 : 0;
          }
          return count;
        });
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
