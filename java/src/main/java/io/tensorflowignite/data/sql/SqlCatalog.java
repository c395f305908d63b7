package io.tensorflowignite.data.sql;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;

/** The SQL names of a cache and its fields. */
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
                    .map(row -> new SqlTable(cache.getName(), text(row, 0), text(row, 1), types()))
                    .collect(Collectors.toList()));
    if (tables.isEmpty()) {
      throw SqlErrors.invalid(
          "cache " + cache.getName() + " is not visible to SQL",
          "where and sql need a cache with a query entity; create the cache with one (CREATE TABLE,"
              + " CacheConfiguration.setQueryEntities or setIndexedTypes, tensorflow_ignite.load),"
              + " or read all rows and filter them");
    }
    if (tables.size() > 1) {
      throw SqlErrors.invalid(
          "cache " + cache.getName() + " has " + tables.size() + " tables, " + tables,
          "where and sql need a cache with one table; keep each type of rows in its own cache");
    }
    return tables.get(0);
  }

  /** The cache's field of a column; the column's name if it is not a field. */
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

  private Map<String, String> types() {
    Map<String, String> types = new HashMap<>();
    for (QueryEntity entity : configuration(cache).getQueryEntities()) {
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

  /** The conversion for the cache's only table. */
  SqlValueConversion conversion() {
    return new SqlValueConversion(configuration(cache).getQueryEntities().iterator().next());
  }

  @SuppressWarnings("unchecked")
  static CacheConfiguration<Object, Object> configuration(IgniteCache<Object, Object> cache) {
    return cache.getConfiguration(CacheConfiguration.class);
  }

  private static String text(List<?> row, int at) {
    return (String) row.get(at);
  }
}
