package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.schema.CacheLookup;
import io.tensorflowignite.table.SystemCache;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.SqlFieldsQuery;

/** The tables of the cluster's caches that a caller may read. */
final class ClusterTables implements SqlTables {
  private static final String TABLES =
      "SELECT CACHE_NAME, SCHEMA_NAME FROM SYS.TABLES WHERE TABLE_NAME = ?";

  private final Ignite ignite;
  private final IgniteCache<Object, Object> cache;
  private final String schema;
  private final Consumer<String> authorize;

  /**
   * @param cache the SELECT's own cache
   * @param schema the schema of its table, in which a name alone is searched first
   * @param authorize throws unless the caller may read a cache
   */
  ClusterTables(
      Ignite ignite, IgniteCache<Object, Object> cache, String schema, Consumer<String> authorize) {
    this.ignite = ignite;
    this.cache = cache;
    this.schema = schema;
    this.authorize = authorize;
  }

  @Override
  public Optional<SqlTable> find(String named, String name) {
    List<List<?>> tables = tables(name);
    List<List<?>> found = inSchema(tables, named == null ? schema : named);
    if (found.isEmpty() && named == null) {
      found = tables;
    }
    if (found.size() > 1) {
      throw SqlErrors.invalid(
          name + " is the name of " + found.size() + " tables",
          "a SELECT names each table so that it is one; write SCHEMA.TABLE, where the schema of a"
              + " cache that was loaded is its name in double quotes");
    }
    return found.stream().findFirst().map(row -> (String) row.get(0)).map(this::table);
  }

  private SqlTable table(String owner) {
    authorize.accept(owner);
    return new SqlCatalog(ignite, new CacheLookup(ignite).binary(owner)).table();
  }

  private List<List<?>> tables(String name) {
    SqlFieldsQuery query = new SqlFieldsQuery(TABLES).setArgs(name).setLocal(true);
    return SqlErrors.translating(
        "the tables " + name,
        () ->
            cache.query(query).getAll().stream()
                .filter(row -> !SystemCache.isSystem(ignite, (String) row.get(0)))
                .collect(Collectors.toList()));
  }

  private static List<List<?>> inSchema(List<List<?>> tables, String schema) {
    return tables.stream().filter(row -> schema.equals(row.get(1))).collect(Collectors.toList());
  }
}
