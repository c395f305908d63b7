package io.tensorflowignite.data.sql;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/** What SQL calls a cache and its fields. */
final class SqlCatalog {
  private static final String TABLES =
      "SELECT SCHEMA_NAME, TABLE_NAME FROM SYS.TABLES WHERE CACHE_NAME = ?";

  private final IgniteCache<Object, Object> cache;

  SqlCatalog(IgniteCache<Object, Object> cache) {
    this.cache = cache;
  }

  SqlTable table() {
    SqlFieldsQuery query = new SqlFieldsQuery(TABLES).setArgs(cache.getName()).setLocal(true);
    List<SqlTable> tables =
        SqlErrors.translating(
            "the tables of cache " + cache.getName(),
            () ->
                cache.query(query).getAll().stream()
                    .map(row -> new SqlTable(cache.getName(), text(row, 0), text(row, 1)))
                    .collect(Collectors.toList()));
    if (tables.isEmpty()) {
      throw SqlInvalid.of(
          "cache " + cache.getName() + " is not visible to SQL",
          "where and sql need a cache with a query entity; make it with one (CREATE TABLE,"
              + " CacheConfiguration.setQueryEntities or setIndexedTypes, tensorflow_ignite.load),"
              + " or read all rows and filter what you have read");
    }
    if (tables.size() > 1) {
      throw SqlInvalid.of(
          "cache " + cache.getName() + " has " + tables.size() + " tables, " + tables,
          "the rows of a cache must be of one type; keep each type in a cache of its own");
    }
    return tables.get(0);
  }

  /** The field behind a column; the column's own name for those that are no field. */
  String field(String column) {
    for (QueryEntity entity : configuration(cache).getQueryEntities()) {
      for (String field : entity.getFields().keySet()) {
        if (entity.getAliases().getOrDefault(field, field).equalsIgnoreCase(column)) {
          return field;
        }
      }
    }
    return column;
  }

  /** Of the cache's only table. */
  SqlStorage storage() {
    return new SqlStorage(configuration(cache).getQueryEntities().iterator().next());
  }

  @SuppressWarnings("unchecked")
  static CacheConfiguration<Object, Object> configuration(IgniteCache<Object, Object> cache) {
    return cache.getConfiguration(CacheConfiguration.class);
  }

  private static String text(List<?> row, int at) {
    return (String) row.get(at);
  }
}
