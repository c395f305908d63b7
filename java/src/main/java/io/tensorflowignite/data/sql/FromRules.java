package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.ExpressionRules.Clause;
import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Alias;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.relational.ExistsExpression;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.schema.Table;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.FromItem;
import net.sf.jsqlparser.statement.select.Join;
import net.sf.jsqlparser.statement.select.ParenthesedSelect;
import net.sf.jsqlparser.statement.select.PlainSelect;
import net.sf.jsqlparser.statement.select.SelectItem;

/**
 * The tables of a SELECT: the cache's table, then joined tables, then tables of subqueries. A
 * subquery is an EXISTS, the list of an IN, or one value. Each reads one table. The table's rows
 * must be on the node of the row for which the subquery runs.
 */
final class FromRules implements Clause {
  /** Finds the tables that a SELECT names beside its cache's table. */
  interface Tables {
    /**
     * A table that the caller may read.
     *
     * @param schema the schema's name; null: the table is named alone
     * @return empty if there is no such table
     */
    Optional<SqlTable> find(String schema, String name);
  }

  static final Tables NO_TABLES = (schema, name) -> Optional.empty();

  /** Tables of a statement and of its subqueries. */
  private static final int MAX_TABLES = 8;

  private final String text;
  private final StatementValues values;
  private final SqlTable main;
  private final Tables tables;
  private final Set<SqlTable> others = new LinkedHashSet<>();
  private final Set<Expression> inLists = Collections.newSetFromMap(new IdentityHashMap<>());
  private final List<SqlTable> lists = new ArrayList<>();
  private int count = 1;

  FromRules(StatementValues values, SqlTable main, Tables tables) {
    this.text = values.text();
    this.values = values;
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
      throw SqlText.invalid(
          text + " reads from " + SqlText.shown(from),
          String.format(
              "the first table of a SELECT is the table of its cache %s, which is %s, and others"
                  + " are joined to it; write FROM %s",
              main.cache, main, main));
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
      throw SqlText.invalid(
          text + " reads more than " + MAX_TABLES + " tables",
          "a node tries the rows of one table for each row of another, so a statement has at most "
              + MAX_TABLES
              + ", including tables of subqueries; read fewer, or load their join into a cache");
    }
    from.setName(SqlTable.quote(found.name));
    from.setSchemaName(SqlTable.quote(found.schema));
    from.setAlias(new Alias(alias, true));
    return scope
        .add(SqlTable.resolveName(alias), found)
        .orElseThrow(
            () ->
                SqlText.invalid(
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
      throw SqlText.invalid(
          text + " has the join " + SqlText.shown(join),
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
      throw SqlText.invalid(
          text + " names no table",
          "a dataset reads the rows of the cache " + main.cache + "; add FROM " + main);
    }
    if (!(item instanceof Table)) {
      throw SqlText.invalid(
          text + " reads from " + SqlText.shown(item) + ", which is no table",
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
      throw SqlText.invalid(
          text + " reads from " + SqlText.shown(table),
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
    SqlTable.requireName(text, table.getAlias().getName());
    return table.getAlias().getName();
  }

  private boolean isMain(Table table) {
    String schema = schema(table);
    return name(table).equals(main.name) && (schema == null || schema.equals(main.schema));
  }

  private SqlTable find(Table table) {
    return tables
        .find(schema(table), name(table))
        .orElseThrow(
            () ->
                SqlText.invalid(
                    text + " reads from " + SqlText.shown(table) + ", and there is no such table",
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

  /** The tables of the subqueries behind IN. */
  List<SqlTable> lists() {
    return List.copyOf(lists);
  }

  @Override
  public Optional<Operand> check(Expression expression, ExpressionRules rules) {
    if (expression instanceof InExpression) {
      inLists.add(ExpressionRules.list((InExpression) expression));
    } else if (expression instanceof ExistsExpression) {
      Expression select = ((ExistsExpression) expression).getRightExpression();
      if (select instanceof ParenthesedSelect) {
        check((ParenthesedSelect) select, rules, true);
        return Optional.of(Operand.NUMBER);
      }
    } else if (expression instanceof ParenthesedSelect) {
      return Optional.of(check((ParenthesedSelect) expression, rules, false));
    }
    return Optional.empty();
  }

  private Operand check(ParenthesedSelect parentheses, ExpressionRules around, boolean exists) {
    PlainSelect select = plain(parentheses);
    TableScope scope = around.scope().inner();
    Source source = other(select.getFromItem(), scope);
    if (inLists.contains(parentheses)) {
      lists.add(source.table);
    }
    Operand column = column(select.getSelectItems(), scope, exists, parentheses);
    scope.requireCoLocated(source, select.getWhere(), "in the WHERE of the subquery");
    // Then subqueries in the condition find this table where it is.
    new ExpressionRules(scope, values, this).check(select.getWhere());
    return column;
  }

  private Operand column(
      List<SelectItem<?>> items, TableScope scope, boolean exists, ParenthesedSelect parentheses) {
    if (items.size() != 1 || items.get(0).getAlias() != null) {
      throw refused(parentheses, "it has not one column, without a name");
    }
    Expression expression = items.get(0).getExpression();
    if (exists && expression.getClass() == AllColumns.class) {
      return Operand.OTHER;
    }
    return new ExpressionRules(scope, values, new GroupedColumns.Aggregates(values, null))
        .check(expression);
  }

  /** The SELECT of a subquery, which must have columns, a table, a condition and nothing else. */
  private PlainSelect plain(ParenthesedSelect parentheses) {
    if (!(parentheses.getSelect() instanceof PlainSelect)) {
      throw refused(parentheses, "it is no plain SELECT");
    }
    PlainSelect select = (PlainSelect) parentheses.getSelect();
    PlainSelect plain = new PlainSelect();
    plain.setSelectItems(select.getSelectItems());
    plain.setFromItem(select.getFromItem());
    plain.setWhere(select.getWhere());
    if (!parentheses.toString().equals("(" + plain + ")")) {
      throw refused(parentheses, "it has more than one column, one table and a condition");
    }
    return select;
  }

  private RuntimeException refused(ParenthesedSelect subquery, String problem) {
    return SqlText.invalid(
        "in " + text + ": " + SqlText.shown(subquery) + " is refused: " + problem,
        "a subquery is a SELECT of one column, which may be an aggregate, from one table with a"
            + " WHERE; write only this, or join the table");
  }
}
