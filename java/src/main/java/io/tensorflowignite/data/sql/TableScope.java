package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import net.sf.jsqlparser.schema.Column;

/**
 * The tables that the columns of a SELECT may belong to: the tables of its FROM clause, and for a
 * subquery also the tables of the outer SELECT.
 */
final class TableScope {
  /** A table with its name in the statement. */
  static final class Source {
    private final String alias;
    final SqlTable table;

    /**
     * Whether the rows that belong to a row of the cache are in the partition of that row, by their
     * affinity key.
     */
    boolean coLocated;

    /** Whether each row of the tables before this one has at most one row of it. */
    boolean single;

    /** Whether each row of the cache has at most one row of this table. */
    boolean determined;

    private Source(String alias, SqlTable table) {
      this.alias = alias;
      this.table = table;
    }

    /** The name in front of its columns, as SQL text. */
    String written() {
      return SqlTable.quote(alias);
    }

    /** The affinity key column with the table's name, for errors. */
    String key() {
      return alias + "." + table.affinity().key().orElse("_KEY");
    }
  }

  private final TableScope outer;
  private final Set<String> aliases;
  private final List<Source> sources = new ArrayList<>();

  private TableScope(TableScope outer, Set<String> aliases) {
    this.outer = outer;
    this.aliases = aliases;
  }

  /** Without tables yet. */
  static TableScope empty() {
    return new TableScope(null, new HashSet<>());
  }

  /** The scope of a condition over one table. */
  static TableScope of(SqlTable table) {
    TableScope scope = empty();
    scope.addFirst(table.name(), table);
    return scope;
  }

  /** The scope of a subquery. */
  TableScope inner() {
    return new TableScope(this, aliases);
  }

  /** The cache's own table. */
  Source addFirst(String alias, SqlTable table) {
    Source source = new Source(alias, table);
    source.coLocated = !table.affinity().isReplicated();
    source.determined = true;
    aliases.add(alias);
    sources.add(source);
    return source;
  }

  /**
   * Another table, which is not co-located yet; empty if another table of the statement has the
   * name, so that a name means the same table everywhere in the statement.
   *
   * @param alias its name, as {@link SqlTable#resolveName} returns it
   */
  Optional<Source> add(String alias, SqlTable table) {
    if (!aliases.add(alias)) {
      return Optional.empty();
    }
    Source source = new Source(alias, table);
    sources.add(source);
    return Optional.of(source);
  }

  /** The table of a column: the named table, or the only table that has the column. */
  Optional<Source> source(Column column) {
    if (column.getTable() != null) {
      return named(SqlTable.resolveName(column.getTable().getName()));
    }
    String name = SqlTable.resolveName(column.getColumnName());
    if (outer == null && sources.size() == 1) {
      return Optional.of(sources.get(0));
    }
    List<Source> found =
        sources.stream()
            .filter(source -> source.table.hasColumn(name))
            .collect(Collectors.toList());
    if (found.isEmpty() && outer != null) {
      return outer.source(column);
    }
    return found.size() == 1 ? Optional.of(found.get(0)) : Optional.empty();
  }

  /** Writes a column in quotes as SQL has it. */
  void makeExact(Column column) {
    String written = column.getColumnName();
    if (SqlTable.isQuoted(written)) {
      source(column)
          .map(source -> source.table.exactName(SqlTable.unquoted(written)))
          .ifPresent(exact -> column.setColumnName(SqlTable.quote(exact)));
    }
  }

  /** The table that a name in front of a column or a star means. */
  Optional<Source> named(String alias) {
    for (TableScope scope = this; scope != null; scope = scope.outer) {
      for (Source source : scope.sources) {
        if (source.alias.equals(alias)) {
          return Optional.of(source);
        }
      }
    }
    return Optional.empty();
  }

  /** The class of a column's values; null: unknown. */
  String type(Column column) {
    String name = SqlTable.resolveName(column.getColumnName());
    return source(column).map(source -> source.table.type(name)).orElse(null);
  }

  /** The cache's own table. */
  Source main() {
    TableScope scope = this;
    while (scope.outer != null) {
      scope = scope.outer;
    }
    return scope.sources.get(0);
  }

  /** The tables of the FROM clause. */
  List<Source> sources() {
    return List.copyOf(sources);
  }
}
