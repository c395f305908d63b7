package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.schema.CacheEntities;
import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.ignite.AffinityColumns;
import io.tensorflowignite.table.SystemCache;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.affinity.AffinityFunction;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.lang.IgnitePredicate;

/** The SQL names of a cache and its fields, and the tables of other caches. */
final class SqlCatalog {
  private static final String TABLES =
      "SELECT SCHEMA_NAME, TABLE_NAME FROM SYS.TABLES WHERE CACHE_NAME = ?";

  private static final String NAMED =
      "SELECT CACHE_NAME, SCHEMA_NAME FROM SYS.TABLES WHERE TABLE_NAME = ?";

  private final Ignite ignite;
  private final IgniteCache<Object, Object> cache;

  SqlCatalog(Ignite ignite, IgniteCache<Object, Object> cache) {
    this.ignite = ignite;
    this.cache = cache;
  }

  SqlTable table() {
    List<SqlTable> tables =
        query("the tables of cache " + cache.getName(), TABLES, cache.getName()).stream()
            .map(row -> table(text(row, 0), text(row, 1)))
            .collect(Collectors.toList());
    if (tables.isEmpty()) {
      throw SqlText.invalid(
          "cache " + cache.getName() + " is not visible to SQL",
          "where and sql need a cache with a query entity; create the cache with one (CREATE TABLE,"
              + " CacheConfiguration.setQueryEntities or setIndexedTypes, tensorflow_ignite.load),"
              + " or read all rows and filter them");
    }
    if (tables.size() > 1) {
      throw SqlText.invalid(
          "cache " + cache.getName() + " has " + tables.size() + " tables, " + tables,
          "where and sql need a cache with one table; keep each type of rows in its own cache");
    }
    return tables.get(0);
  }

  /**
   * A table of any cache that the caller may read.
   *
   * @param own the schema in which a name alone is searched first
   * @param schema the schema's name; null: the table is named alone
   * @param authorize throws unless the caller may read a cache
   */
  Optional<SqlTable> find(String own, String schema, String name, Consumer<String> authorize) {
    List<List<?>> tables =
        query("the tables " + name, NAMED, name).stream()
            .filter(row -> !SystemCache.isSystem(ignite, text(row, 0)))
            .collect(Collectors.toList());
    String first = schema == null ? own : schema;
    List<List<?>> found =
        tables.stream().filter(row -> first.equals(row.get(1))).collect(Collectors.toList());
    if (found.isEmpty() && schema == null) {
      found = tables;
    }
    if (found.size() > 1) {
      throw SqlText.invalid(
          name + " is the name of " + found.size() + " tables",
          "a SELECT names each table so that it is one; write SCHEMA.TABLE, where the schema of a"
              + " cache that was loaded is its name in double quotes");
    }
    return found.stream().findFirst().map(row -> other(text(row, 0), authorize));
  }

  private SqlTable other(String owner, Consumer<String> authorize) {
    authorize.accept(owner);
    return new SqlCatalog(ignite, new CacheLookup(ignite).binary(owner)).table();
  }

  private List<List<?>> query(String what, String sql, String argument) {
    SqlFieldsQuery query = new SqlFieldsQuery(sql).setArgs(argument).setLocal(true);
    return SqlText.translating(what, () -> cache.query(query).getAll());
  }

  private SqlTable table(String schema, String name) {
    Map<String, String> types = types();
    return new SqlTable(
        cache.getName(),
        schema,
        name,
        types,
        affinity(types),
        configuration(cache).isSqlEscapeAll());
  }

  private SqlTable.Affinity affinity(Map<String, String> types) {
    CacheConfiguration<Object, Object> configuration = configuration(cache);
    boolean replicated = configuration.getCacheMode() == CacheMode.REPLICATED;
    Set<String> columns = AffinityColumns.of(ignite, cache.getName());
    String type =
        columns.stream()
            .map(column -> types.get(column.toUpperCase(Locale.ROOT)))
            .filter(Objects::nonNull)
            .findFirst()
            .orElse(null);
    return new SqlTable.Affinity(replicated, columns, type, distribution(configuration));
  }

  private SqlTable.Distribution distribution(CacheConfiguration<?, ?> configuration) {
    AffinityFunction function = configuration.getAffinity();
    IgnitePredicate<ClusterNode> filter = configuration.getNodeFilter();
    // Another function than Ignite's own one is known to nobody but its cache.
    String name =
        function.getClass() == RendezvousAffinityFunction.class
            ? RendezvousAffinityFunction.class.getSimpleName()
            : function.getClass().getName() + " of cache " + cache.getName();
    return new SqlTable.Distribution(
        name,
        function.partitions(),
        filter == null || filter instanceof CacheConfiguration.IgniteAllNodesPredicate
            ? null
            : filter.getClass().getName(),
        configuration.getQueryParallelism());
  }

  /** The cache's field of a column; the column's name if it is not a field. */
  String field(String column) {
    for (QueryEntity entity : CacheEntities.of(ignite, cache.getName())) {
      for (String field : entity.getFields().keySet()) {
        if (entity.getAliases().getOrDefault(field, field).equalsIgnoreCase(column)) {
          return field;
        }
      }
    }
    return column;
  }

  private Map<String, String> types() {
    Map<String, String> types = new HashMap<>();
    for (QueryEntity entity : CacheEntities.of(ignite, cache.getName())) {
      types.put("_KEY", entity.findKeyType());
      types.put("_VAL", entity.findValueType());
      entity
          .getFields()
          .forEach(
              (field, type) -> {
                String column = entity.getAliases().getOrDefault(field, field);
                types.put(column.toUpperCase(Locale.ROOT), type);
              });
    }
    return types;
  }

  /** The entity of the cache's only table. */
  QueryEntity entity() {
    return CacheEntities.of(ignite, cache.getName()).iterator().next();
  }

  @SuppressWarnings("unchecked")
  static CacheConfiguration<Object, Object> configuration(IgniteCache<Object, Object> cache) {
    return cache.getConfiguration(CacheConfiguration.class);
  }

  private static String text(List<?> row, int at) {
    return (String) row.get(at);
  }
}
