package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.table.SystemCache;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** Finds a cache by its own name, or by the name of its SQL table. */
public final class CacheNames {
  private CacheNames() {}

  /**
   * The name of the cache that a request names.
   *
   * @param name a cache's name; or a table's name, as TABLE or SCHEMA.TABLE, in any case unless
   *     tables differ only by their case
   * @return the name itself if there is neither such a cache nor such a table
   */
  public static String resolve(Ignite ignite, String name) {
    if (ignite.cluster().state().active() && !ignite.cacheNames().contains(name)) {
      Map<String, String> tables = tables(ignite);
      return only(tables, name, table -> names(table, name, false))
          .orElseGet(() -> only(tables, name, table -> names(table, name, true)).orElse(name));
    }
    return name;
  }

  private static Optional<String> only(
      Map<String, String> tables, String name, Predicate<String> isNamed) {
    Map<String, String> named =
        tables.entrySet().stream()
            .filter(table -> isNamed.test(table.getKey()))
            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    if (named.values().stream().distinct().count() > 1) {
      throw invalidRequest(
          "%s is the name of several SQL tables: %s; a request reads one cache; name the cache, or"
              + " the table with its schema",
          name,
          new TreeMap<>(named)
              .entrySet().stream()
                  .map(table -> table.getKey() + " of cache " + table.getValue())
                  .collect(Collectors.joining(", ")));
    }
    return named.values().stream().findFirst();
  }

  private static boolean names(String table, String name, boolean anyCase) {
    String unqualified = table.substring(table.lastIndexOf('.') + 1);
    return anyCase
        ? table.equalsIgnoreCase(name) || unqualified.equalsIgnoreCase(name)
        : table.equals(name) || unqualified.equals(name);
  }

  /** The caches of all tables that are not of system caches, by schema and name of the table. */
  private static Map<String, String> tables(Ignite ignite) {
    Map<String, String> tables = new TreeMap<>();
    for (String cache : SystemCache.userCaches(ignite)) {
      CacheDescriptor.of(ignite, cache).stream()
          .flatMap(present -> present.tables().stream())
          .forEach(table -> tables.put(table, cache));
    }
    return tables;
  }
}
