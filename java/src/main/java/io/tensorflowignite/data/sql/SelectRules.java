package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.sf.jsqlparser.expression.Alias;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.schema.Table;
import net.sf.jsqlparser.statement.Statement;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.AllTableColumns;
import net.sf.jsqlparser.statement.select.FromItem;
import net.sf.jsqlparser.statement.select.PlainSelect;
import net.sf.jsqlparser.statement.select.Select;
import net.sf.jsqlparser.statement.select.SelectItem;
import net.sf.jsqlparser.statement.select.SetOperationList;

/** What a SELECT may be: SELECT columns FROM the cache's table WHERE condition. */
final class SelectRules {
  private static final String ACROSS_PARTITIONS =
      "each partition is read by itself, by whoever owns it, so that a clause over all rows would"
          + " mean something else on each; read the rows, and do it on what you have read";

  private final SqlTable table;
  private final String what;
  private final ExpressionRules expressions;

  private SelectRules(SqlTable table, String what) {
    this.table = table;
    this.what = what;
    this.expressions = new ExpressionRules(what);
  }

  static RowSelect condition(SqlTable table, String where) {
    String what = SqlParsing.what("where", where);
    Expression condition = SqlParsing.condition(where);
    ExpressionRules expressions = new ExpressionRules(what);
    expressions.check(condition);
    return new RowSelect(
        what,
        "_VAL",
        table.quoted(),
        " WHERE " + condition,
        Collections.emptyList(),
        0,
        expressions.parameters());
  }

  static RowSelect statement(SqlTable table, String sql) {
    SelectRules rules = new SelectRules(table, SqlParsing.what("sql", sql));
    return rules.check(SqlParsing.statement(sql));
  }

  private RowSelect check(Statement statement) {
    PlainSelect select = plain(statement);
    refuseClauses(select);
    String from = from(select.getFromItem());
    List<SelectColumn> columns = new ArrayList<>();
    List<String> selected = new ArrayList<>();
    for (SelectItem<?> item : select.getSelectItems()) {
      columns.add(column(item, columns.size() + 1));
      selected.add(item.toString());
    }
    requireDistinct(columns);
    int inColumns = expressions.parameters();
    expressions.check(select.getWhere());
    String where = select.getWhere() == null ? "" : " WHERE " + select.getWhere();
    requireNothingElse(select);
    return new RowSelect(
        what,
        String.join(", ", selected),
        from,
        where,
        columns,
        inColumns,
        expressions.parameters());
  }

  private PlainSelect plain(Statement statement) {
    if (statement instanceof SetOperationList) {
      throw SqlInvalid.of(what + " combines SELECTs (UNION, INTERSECT, EXCEPT)", ACROSS_PARTITIONS);
    }
    if (!(statement instanceof PlainSelect)) {
      String kind = statement instanceof Select ? "another form of query" : "no query";
      throw SqlInvalid.of(
          what + " is no plain SELECT but " + kind + " (" + statement.getClass().getSimpleName()
              + ")",
          "a dataset reads rows, and changes nothing; give a SELECT over the cache's table");
    }
    return (PlainSelect) statement;
  }

  private void refuseClauses(PlainSelect select) {
    Map<String, Boolean> clauses = new LinkedHashMap<>();
    clauses.put("WITH", select.getWithItemsList() != null);
    clauses.put("DISTINCT", select.getDistinct() != null);
    clauses.put("TOP", select.getTop() != null);
    clauses.put("GROUP BY", select.getGroupBy() != null);
    clauses.put("HAVING", select.getHaving() != null);
    clauses.put("QUALIFY", select.getQualify() != null);
    clauses.put("WINDOW", select.getWindowDefinitions() != null);
    clauses.put("ORDER BY", select.getOrderByElements() != null);
    clauses.put("LIMIT", select.getLimit() != null || select.getLimitBy() != null);
    clauses.put("OFFSET", select.getOffset() != null);
    clauses.put("FETCH", select.getFetch() != null);
    clauses.put("FOR UPDATE", select.getForMode() != null);
    clauses.forEach(
        (clause, present) -> {
          if (present) {
            throw SqlInvalid.of(what + " has the clause " + clause, ACROSS_PARTITIONS);
          }
        });
    if (select.getJoins() != null || select.getLateralViews() != null) {
      throw SqlInvalid.of(
          what + " joins tables",
          "the rows of one cache are read, by its partitions; other tables lie elsewhere; read each"
              + " by itself");
    }
    if (select.getFromItem() == null) {
      throw SqlInvalid.of(
          what + " names no table",
          "a dataset reads the rows of the cache " + table.cache() + "; add FROM " + table);
    }
  }

  private String from(FromItem item) {
    if (!(item instanceof Table)) {
      throw SqlInvalid.of(
          what + " reads from " + SqlInvalid.shown(item) + ", which is no table",
          "subqueries and table functions have no partitions; write FROM " + table);
    }
    Table from = (Table) item;
    List<String> parts = from.getNameParts();
    // The parts come last first.
    boolean known =
        parts.size() <= 2
            && SqlTable.meant(parts.get(0)).equals(table.name())
            && (parts.size() == 1 || SqlTable.meant(parts.get(1)).equals(table.schema()));
    Alias alias = from.getAlias();
    String plain = from.getFullyQualifiedName() + (alias == null ? "" : alias);
    if (!known
        || (alias != null && alias.getAliasColumns() != null)
        || !plain.equals(from.toString())) {
      throw SqlInvalid.of(
          what + " reads from " + SqlInvalid.shown(from),
          "only the cache's own rows are read, without hints; the table of cache "
              + table.cache()
              + " is "
              + table
              + "; write FROM "
              + table);
    }
    return table.quoted()
        + " AS "
        + (alias == null ? SqlTable.quote(table.name()) : alias.getName());
  }

  private SelectColumn column(SelectItem<?> item, int position) {
    Expression expression = item.getExpression();
    if (expression instanceof AllColumns) {
      AllColumns all = (AllColumns) expression;
      if (all.getExceptColumns() != null
          || all.getReplaceExpressions() != null
          || (all.getClass() != AllColumns.class && all.getClass() != AllTableColumns.class)) {
        throw SqlInvalid.of(
            what + " has " + SqlInvalid.shown(all),
            "a star stands for all columns of the table; name the columns that you want");
      }
      return SelectColumn.star();
    }
    expressions.check(expression);
    String alias = item.getAlias() == null ? null : SqlTable.unquoted(item.getAlias().getName());
    if (expression instanceof Column) {
      String name = ((Column) expression).getColumnName();
      return SelectColumn.ofSource(
          alias == null ? SqlTable.unquoted(name) : alias, SqlTable.meant(name));
    }
    if (alias != null) {
      return SelectColumn.computed(alias);
    }
    throw SqlInvalid.of(
        what + ": column " + position + ", " + SqlInvalid.shown(expression) + ", has no name",
        "the columns of a dataset are known by their names; give it one (AS name)");
  }

  private void requireDistinct(List<SelectColumn> columns) {
    Set<String> seen = new HashSet<>();
    for (SelectColumn column : columns) {
      if (!seen.add(column.name())) {
        throw SqlInvalid.twice(what, column.isStar() ? "*" : column.name());
      }
    }
  }

  /** All that is understood makes the whole text: no clause is dropped without a word. */
  private void requireNothingElse(PlainSelect select) {
    PlainSelect plain = new PlainSelect();
    plain.setSelectItems(select.getSelectItems());
    plain.setFromItem(select.getFromItem());
    plain.setWhere(select.getWhere());
    if (!plain.toString().equals(select.toString())) {
      throw SqlInvalid.of(
          what + " has more than columns, a table and a condition",
          "a SELECT is read as: " + SqlInvalid.shown(plain) + "; leave out the rest");
    }
  }
}
