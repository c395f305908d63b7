package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import net.sf.jsqlparser.expression.Alias;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.schema.Table;
import net.sf.jsqlparser.statement.select.FromItem;
import net.sf.jsqlparser.statement.select.Join;

/** The tables of a SELECT: the cache's table, then joined tables, then tables of subqueries. */
final class FromRules {
  /** Tables of a statement and of its subqueries. */
  private static final int MAX_TABLES = 8;

  private final String text;
  private final SqlTable main;
  private final SqlTables tables;
  private final Set<SqlTable> others = new LinkedHashSet<>();
  private int count = 1;

  /**
   * @param text the text that contains the statement, for errors
   */
  FromRules(String text, SqlTable main, SqlTables tables) {
    this.text = text;
    this.main = main;
    this.tables = tables;
  }

  /** The tables that the statement reads beside the first one. */
  List<SqlTable> others() {
    return List.copyOf(others);
  }

  /** Adds the first table, which must be the cache's table, and returns it as SQL text. */
  String first(FromItem item, TableScope scope) {
    Table from = table(item);
    String alias = alias(from);
    if (!isMain(from)) {
      throw SqlErrors.invalid(
          text + " reads from " + SqlErrors.shown(from),
          String.format(
              "the first table of a SELECT is the table of its cache %s, which is %s, and others"
                  + " are joined to it; write FROM %s",
              main.cache(), main, main));
    }
    scope.addFirst(SqlTable.resolveName(alias), main);
    return main.quoted() + " AS " + alias;
  }

  /** Adds another table, and gives it its full name in the syntax tree. */
  Source other(FromItem item, TableScope scope) {
    Table from = table(item);
    String alias = alias(from);
    SqlTable found = isMain(from) ? main : find(from);
    others.add(found);
    if (++count > MAX_TABLES) {
      throw SqlErrors.invalid(
          text + " reads more than " + MAX_TABLES + " tables",
          "a node tries the rows of one table for each row of another, so a statement has at most "
              + MAX_TABLES
              + ", including tables of subqueries; read fewer, or load their join into a cache");
    }
    from.setName(SqlTable.quote(found.name()));
    from.setSchemaName(SqlTable.quote(found.schema()));
    from.setAlias(new Alias(alias, true));
    return scope
        .add(SqlTable.resolveName(alias), found)
        .orElseThrow(
            () ->
                SqlErrors.invalid(
                    text + " calls two tables " + alias,
                    "each table of a statement has its own name, in subqueries too; give one of"
                        + " them another (AS name)"));
  }

  /** Adds the table of a join; its condition is not checked yet. */
  Source joined(Join join, TableScope scope) {
    Collection<Expression> conditions = join.getOnExpressions();
    Join plain = new Join();
    plain.setInner(join.isInner());
    plain.setLeft(join.isLeft());
    plain.setOuter(join.isLeft() && join.isOuter());
    plain.setFromItem(join.getFromItem());
    plain.setOnExpressions(conditions);
    if (conditions == null
        || conditions.size() != 1
        || (join.isInner() && join.isLeft())
        || !plain.toString().equals(join.toString())) {
      throw SqlErrors.invalid(
          text + " has the join " + SqlErrors.shown(join),
          "only a row of the cache's table has an owner, so a join finds rows for each of them;"
              + " write [INNER] JOIN table ON condition, or LEFT JOIN table ON condition");
    }
    return other(join.getFromItem(), scope);
  }

  /** A checked join as SQL text. */
  static String written(Join join) {
    return (join.isLeft() ? " LEFT JOIN " : " INNER JOIN ")
        + join.getFromItem()
        + " ON "
        + condition(join);
  }

  static Expression condition(Join join) {
    return join.getOnExpressions().iterator().next();
  }

  private Table table(FromItem item) {
    if (item == null) {
      throw SqlErrors.invalid(
          text + " names no table",
          "a dataset reads the rows of the cache " + main.cache() + "; add FROM " + main);
    }
    if (!(item instanceof Table)) {
      throw SqlErrors.invalid(
          text + " reads from " + SqlErrors.shown(item) + ", which is no table",
          "subqueries and table functions have no partitions; write the name of a table, first FROM"
              + " "
              + main);
    }
    Table table = (Table) item;
    Alias alias = table.getAlias();
    String plain = table.getFullyQualifiedName() + (alias == null ? "" : alias);
    if (table.getNameParts().size() > 2
        || (alias != null && alias.getAliasColumns() != null)
        || !plain.equals(table.toString())) {
      throw SqlErrors.invalid(
          text + " reads from " + SqlErrors.shown(table),
          "a table is written as TABLE or SCHEMA.TABLE, with a name after it or not, and without"
              + " hints; write for instance FROM "
              + main);
    }
    return table;
  }

  private String alias(Table table) {
    if (table.getAlias() == null) {
      return SqlTable.quote(name(table));
    }
    SqlLiterals.requireName(text, table.getAlias().getName());
    return table.getAlias().getName();
  }

  private boolean isMain(Table table) {
    String schema = schema(table);
    return name(table).equals(main.name()) && (schema == null || schema.equals(main.schema()));
  }

  private SqlTable find(Table table) {
    return tables
        .find(schema(table), name(table))
        .orElseThrow(
            () ->
                SqlErrors.invalid(
                    text + " reads from " + SqlErrors.shown(table) + ", and there is no such table",
                    "a SELECT joins tables of caches to "
                        + main
                        + "; write the name of one of them as TABLE or SCHEMA.TABLE"));
  }

  // The parts are in reverse order: the name first.
  private static String name(Table table) {
    return SqlTable.resolveName(table.getNameParts().get(0));
  }

  private static String schema(Table table) {
    List<String> parts = table.getNameParts();
    return parts.size() < 2 ? null : SqlTable.resolveName(parts.get(1));
  }
}
