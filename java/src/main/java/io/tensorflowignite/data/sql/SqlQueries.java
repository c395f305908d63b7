package io.tensorflowignite.data.sql;

import io.grpc.Context;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.ignite.SqlColumn;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * Runs a checked SELECT as queries of Ignite, so that each row or group comes from one owner. What
 * Ignite 2.17 does with the partitions of a query, as its sources say and ItSqlTables shows:
 *
 * <ul>
 *   <li>It reads only partitions of the given numbers of <em>every</em> PARTITIONED cache in the
 *       query, in FROM and in subqueries (IndexingQueryFilterImpl). It does not check that they are
 *       primary, so we require primary partitions of all of these caches, and never read a backup.
 *   <li>It reads a REPLICATED cache whole. If the SELECT's own cache is REPLICATED, each owner
 *       reads it, and a row's key gives its partition.
 *   <li>A local query does not check that its partitions are complete, so we pin them. A query that
 *       is not local does, and waits.
 *   <li>If a cache has a query parallelism, a local query with partitions fails. A query that is
 *       not local then goes only to this node, which owns the partitions.
 *   <li>A query that is not local is split into one for the nodes and one that puts the results
 *       together. It reads only primary partitions of REPLICATED caches, and so misses rows, if the
 *       first table is REPLICATED and there is a subquery; the first one is what the optimizer
 *       chooses. The SELECT's own table is written first, and enforcing the order of the joins
 *       keeps it there.
 *   <li>With <em>collocated</em>, groups and counts are complete on each node: a count comes as one
 *       row from each, which we add.
 * </ul>
 *
 * <p>A query holds values on the heap of a node: the values of a list, and its groups, unless an
 * index returns the rows of each group one after the other. Their number is known only after the
 * query, but is at most the number of rows that are read. So a query with groups reads fewer
 * partitions at a time.
 */
final class SqlQueries {
  /** Rows that a node holds in its heap at a time; a row may have many megabytes. */
  private static final int PAGE_ROWS = 16;

  /** An estimate for a group with five aggregates, in a map with its key: about 400. */
  private static final int BYTES = 512;

  /** All queries that a node runs at a time hold an eighth of its heap. */
  private static final int HEAP_DIVISOR = 8;

  private final IgniteCache<Object, Object> cache;
  private final RowSelect select;
  private final Object[] parameters;
  private final boolean replicated;
  private final boolean local;
  private final long maxHeld;

  /**
   * @param maxHeld number of groups that a query may hold on the heap
   */
  SqlQueries(
      IgniteCache<Object, Object> cache, RowSelect select, Object[] parameters, long maxHeld) {
    this.maxHeld = maxHeld;
    this.cache = cache;
    this.select = select;
    this.parameters = parameters;
    CacheConfiguration<Object, Object> configuration = SqlCatalog.configuration(cache);
    replicated = configuration.getCacheMode() == CacheMode.REPLICATED;
    local = replicated || configuration.getQueryParallelism() == 1;
  }

  String text() {
    return select.text;
  }

  /** Whether {@link #rows} returns rows of all partitions, and not only of the named ones. */
  boolean returnAllPartitions() {
    return replicated;
  }

  /** The columns, the key last. Runs no query. */
  List<SqlColumn> metadata() {
    return SqlText.translating(
        text(),
        () -> {
          try (FieldsQueryCursor<List<?>> cursor =
              cache.query(query(select.rows(), parameters, true))) {
            return SqlColumn.of(cursor);
          }
        });
  }

  /**
   * Partitions of this node in the parts that {@link #rows} may read at a time.
   *
   * @param rows the rows of each partition, in their order
   */
  List<List<Integer>> parts(List<Integer> partitions, List<Long> rows) {
    if (!select.isGrouped()) {
      return List.of(partitions);
    }
    long all =
        replicated
            ? cache.localSizeLong(CachePeekMode.PRIMARY, CachePeekMode.BACKUP)
            : rows.stream().mapToLong(Long::longValue).sum();
    if (all <= maxHeld || isSorted()) {
      return List.of(partitions);
    }
    requirePartitioned(all);
    return partsOfRows(partitions, rows, maxHeld);
  }

  private void requirePartitioned(long rows) {
    if (replicated) {
      throw SqlText.invalid(
          String.format("%s makes groups of up to %,d rows on each node", text(), rows),
          String.format(
              "a node holds the groups of a REPLICATED cache on its heap, and with this heap has"
                  + " room for %,d, unless an index has the columns of GROUP BY; CREATE INDEX over"
                  + " these columns, the affinity key first",
              maxHeld));
    }
  }

  /** Whether an index brings the rows of each group together, so that no group is held. */
  private boolean isSorted() {
    SqlFieldsQuery query =
        query("EXPLAIN " + select.keys(), select.ofCount(parameters), true)
            .setEnforceJoinOrder(true);
    return SqlText.translating(
        text(), () -> run(query, plan -> plan.getAll().toString().contains("/* group sorted */")));
  }

  /** The rows of partitions of this node, unordered. */
  FieldsQueryCursor<List<?>> rows(List<Integer> partitions) {
    SqlFieldsQuery query = query(select.rows(), parameters, local);
    query.setPageSize(PAGE_ROWS);
    if (select.readsOtherRows() && !local) {
      onOwners(query);
    }
    // Groups come in the order of an index on the first table, instead of all at the end.
    query.setEnforceJoinOrder(query.isEnforceJoinOrder() || select.isGrouped());
    return cache.query(restrict(query, partitions));
  }

  /** Counts the rows of partitions of any node, on their owners. */
  long count(List<Integer> partitions, PartitionOwners owners) {
    if (!select.isGrouped()) {
      return countAtOnce(partitions, owners);
    }
    Collection<List<Integer>> byNode = owners.byNode(partitions).values();
    long all = cache.sizeLong(CachePeekMode.PRIMARY);
    long ofNode = replicated ? all : all / Math.max(1, byNode.size());
    if (ofNode <= maxHeld || isSorted()) {
      return countAtOnce(partitions, owners);
    }
    requirePartitioned(ofNode);
    int parts = (int) Math.min(owners.count(), ofNode / maxHeld + 1);
    return partsOfNodes(byNode, parts).stream().mapToLong(part -> countAtOnce(part, owners)).sum();
  }

  private long countAtOnce(List<Integer> partitions, PartitionOwners owners) {
    Object[] values = select.ofCount(parameters);
    boolean all = partitions.size() == owners.count();
    if (replicated && !all) {
      return SqlText.translating(text(), () -> countByKey(partitions, owners, values));
    }
    SqlFieldsQuery query = query(select.count(), values, false);
    if (select.readsOtherRows()) {
      onOwners(query);
    }
    // Ignite itself finds the partitions of a condition on keys, and so calls fewer nodes; of a
    // SELECT over several tables it must not.
    if (!all || select.readsOtherRows()) {
      restrict(query, partitions);
    }
    return SqlText.translating(text(), () -> run(query, rows -> sum(rows.getAll())));
  }

  private <R> R run(SqlFieldsQuery query, Function<FieldsQueryCursor<List<?>>, R> use) {
    try {
      Cancellation.requireCall();
      try (FieldsQueryCursor<List<?>> rows = cache.query(query);
          Cancellation cancellation = new Cancellation(rows)) {
        return use.apply(rows);
      }
    } catch (RuntimeException failure) {
      Cancellation.requireCall();
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
    if (select.readsOtherRows()) {
      onOwners(query);
    }
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

  /** Lets each owner answer alone. */
  private static void onOwners(SqlFieldsQuery query) {
    query.setCollocated(true).setEnforceJoinOrder(true);
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

  /** Number of rows that one query may hold. */
  static long maxHeld() {
    Runtime node = Runtime.getRuntime();
    return node.maxMemory() / HEAP_DIVISOR / node.availableProcessors() / BYTES;
  }

  /**
   * Partitions in parts with at most {@code max} rows each, but one partition at least.
   *
   * @param rows the rows of each partition, in the order of the partitions
   */
  static List<List<Integer>> partsOfRows(List<Integer> partitions, List<Long> rows, long max) {
    List<List<Integer>> parts = new ArrayList<>();
    List<Integer> part = new ArrayList<>();
    long sum = 0;
    for (int i = 0; i < partitions.size(); i++) {
      if (!part.isEmpty() && sum + rows.get(i) > max) {
        parts.add(part);
        part = new ArrayList<>();
        sum = 0;
      }
      part.add(partitions.get(i));
      sum += rows.get(i);
    }
    if (!part.isEmpty()) {
      parts.add(part);
    }
    return Collections.unmodifiableList(parts);
  }

  /** The same number of parts of the partitions of each node, taken together by their order. */
  static List<List<Integer>> partsOfNodes(Iterable<List<Integer>> nodes, int count) {
    List<List<Integer>> parts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      List<Integer> part = new ArrayList<>();
      for (List<Integer> ofNode : nodes) {
        int size = ofNode.size();
        part.addAll(ofNode.subList(size * i / count, size * (i + 1) / count));
      }
      if (!part.isEmpty()) {
        parts.add(part);
      }
    }
    return Collections.unmodifiableList(parts);
  }

  /**
   * Ends a query together with its call. A query that selects few rows sends nothing for a long
   * time, so it would not detect that its caller has left.
   */
  static final class Cancellation implements AutoCloseable {
    private final Context call = Context.current();
    private final Context.CancellationListener listener;

    Cancellation(FieldsQueryCursor<?> query) {
      // Ignite cancels a query whose cursor is closed by another thread.
      listener = ended -> query.close();
      call.addListener(listener, Cancellation::start);
    }

    /** Whether the current call has ended, and with it its queries. */
    static boolean callHasEnded() {
      return Context.current().isCancelled();
    }

    /**
     * @throws IgniteInterruptedException the current call has ended
     */
    static void requireCall() {
      if (callHasEnded()) {
        throw new IgniteInterruptedException("The call for which a query runs has ended.");
      }
    }

    @Override
    public void close() {
      call.removeListener(listener);
    }

    /** Closing waits for other nodes, and the thread that ends the call must not. */
    private static void start(Runnable close) {
      Thread thread = new Thread(close, "tensorflow-ignite-cancel");
      thread.setDaemon(true);
      thread.start();
    }
  }
}
