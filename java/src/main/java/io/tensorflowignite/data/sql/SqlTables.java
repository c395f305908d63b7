package io.tensorflowignite.data.sql;

import java.util.Optional;

/** Finds the tables that a SELECT names beside its cache's table. */
interface SqlTables {
  /** No other tables. */
  SqlTables NONE = (schema, name) -> Optional.empty();

  /**
   * A table that the caller may read.
   *
   * @param schema the schema's name; null: the table is named alone
   * @param name the table's name
   * @return empty if there is no such table
   */
  Optional<SqlTable> find(String schema, String name);
}
