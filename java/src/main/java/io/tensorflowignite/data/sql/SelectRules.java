package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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

/** The allowed form of a SELECT: SELECT columns FROM the cache's table WHERE condition. */
final class SelectRules {
  private static final String ACROSS_PARTITIONS =
      "each owner reads its partitions separately, so a clause over all rows would mean something"
          + " else on each node; read the rows, and apply the clause to them";

  private final SqlTable table;
  private final String text;
  private final ExpressionRules expressions;
  private long rows;

  private SelectRules(SqlTable table, String text, Object[] parameters) {
    this.table = table;
    this.text = text;
    this.expressions = new ExpressionRules(text, table, parameters);
  }

  /**
   * The rows of a table, as value and key, that meet a condition.
   *
   * @param parameters the values of the question marks
   */
  static RowSelect condition(SqlTable table, String where, Object... parameters) {
    String text = SqlParsing.shown("where", where);
    Expression condition = SqlParsing.condition(where);
    ExpressionRules expressions = new ExpressionRules(text, table, parameters);
    expressions.check(condition);
    return new RowSelect(
        text,
        "_VAL",
        table.quoted(),
        " WHERE " + condition,
        List.of(),
        0,
        expressions.parameters());
  }

  static RowSelect statement(SqlTable table, String sql, Object... parameters) {
    SelectRules rules = new SelectRules(table, SqlParsing.shown("sql", sql), parameters);
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
        text,
        String.join(", ", selected),
        from,
        where,
        columns,
        inColumns,
        expressions.parameters());
  }

  private PlainSelect plain(Statement statement) {
    if (statement instanceof SetOperationList) {
      throw SqlErrors.invalid(
          text + " combines SELECTs (UNION, INTERSECT, EXCEPT)", ACROSS_PARTITIONS);
    }
    if (!(statement instanceof PlainSelect)) {
      String kind = statement instanceof Select ? "another form of query" : "no query";
      throw SqlErrors.invalid(
          String.format(
              "%s is not a plain SELECT but %s (%s)",
              text, kind, statement.getClass().getSimpleName()),
          "a dataset only reads rows; give a SELECT over the cache's table");
    }
    return (PlainSelect) statement;
  }

  private void refuseClauses(PlainSelect select) {
    refuse("WITH", select.getWithItemsList());
    refuse("DISTINCT", select.getDistinct());
    refuse("TOP", select.getTop());
    refuse("GROUP BY", select.getGroupBy());
    refuse("HAVING", select.getHaving());
    refuse("QUALIFY", select.getQualify());
    refuse("WINDOW", select.getWindowDefinitions());
    refuse("ORDER BY", select.getOrderByElements());
    refuse("LIMIT", select.getLimit());
    refuse("LIMIT", select.getLimitBy());
    refuse("OFFSET", select.getOffset());
    refuse("FETCH", select.getFetch());
    refuse("FOR UPDATE", select.getForMode());
    if (select.getJoins() != null || select.getLateralViews() != null) {
      throw SqlErrors.invalid(
          text + " joins tables",
          "a dataset reads one cache by its partitions, and rows of other tables may lie on other"
              + " nodes; read each table with its own dataset");
    }
    if (select.getFromItem() == null) {
      throw SqlErrors.invalid(
          text + " names no table",
          "a dataset reads the rows of the cache " + table.cache() + "; add FROM " + table);
    }
  }

  private void refuse(String clause, Object value) {
    if (value != null) {
      throw SqlErrors.invalid(text + " has the clause " + clause, ACROSS_PARTITIONS);
    }
  }

  private String from(FromItem item) {
    if (!(item instanceof Table)) {
      throw SqlErrors.invalid(
          text + " reads from " + SqlErrors.shown(item) + ", which is no table",
          "subqueries and table functions have no partitions; write FROM " + table);
    }
    Table from = (Table) item;
    List<String> parts = from.getNameParts();
    // The parts are in reverse order: the name first.
    boolean known =
        parts.size() <= 2
            && SqlTable.resolveName(parts.get(0)).equals(table.name())
            && (parts.size() == 1 || SqlTable.resolveName(parts.get(1)).equals(table.schema()));
    Alias alias = from.getAlias();
    String plain = from.getFullyQualifiedName() + (alias == null ? "" : alias);
    if (!known
        || (alias != null && alias.getAliasColumns() != null)
        || !plain.equals(from.toString())) {
      throw SqlErrors.invalid(
          text + " reads from " + SqlErrors.shown(from),
          String.format(
              "a SELECT reads only the table of cache %s, which is %s, and has no hints; write FROM"
                  + " %s",
              table.cache(), table, table));
    }
    if (alias != null) {
      SqlLiterals.requireName(text, alias.getName());
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
        throw SqlErrors.invalid(
            text + " has " + SqlErrors.shown(all),
            "a star means all columns of the table; name the columns that you need");
      }
      return SelectColumn.STAR;
    }
    rows += expressions.check(expression).rows();
    if (rows > ExpressionRules.MAX_ROWS_SELECTED) {
      throw SqlErrors.invalid(
          text + " selects columns that can have " + rows + " times the size of a row",
          "the columns of a SELECT may have "
              + ExpressionRules.MAX_ROWS_SELECTED
              + " times the size of a row together; select fewer columns");
    }
    if (item.getAlias() != null) {
      SqlLiterals.requireName(text, item.getAlias().getName());
    }
    String alias = item.getAlias() == null ? null : SqlTable.unquoted(item.getAlias().getName());
    if (expression instanceof Column) {
      String name = ((Column) expression).getColumnName();
      return new SelectColumn(
          alias == null ? SqlTable.unquoted(name) : alias, SqlTable.resolveName(name));
    }
    if (alias != null) {
      return new SelectColumn(alias, null);
    }
    throw SqlErrors.invalid(
        text + ": column " + position + ", " + SqlErrors.shown(expression) + ", has no name",
        "each column of a dataset has a name; give one (AS name)");
  }

  private void requireDistinct(List<SelectColumn> columns) {
    Set<String> names = new HashSet<>();
    for (SelectColumn column : columns) {
      if (!names.add(column.name())) {
        throw SqlErrors.twice(text, column.isStar() ? "*" : column.name());
      }
    }
  }

  /** The columns, table and condition must be the whole statement: no other clause is ignored. */
  private void requireNothingElse(PlainSelect select) {
    PlainSelect plain = new PlainSelect();
    plain.setSelectItems(select.getSelectItems());
    plain.setFromItem(select.getFromItem());
    plain.setWhere(select.getWhere());
    if (!plain.toString().equals(select.toString())) {
      throw SqlErrors.invalid(
          text + " has more than columns, a table and a condition",
          "the allowed part is: " + SqlErrors.shown(plain) + "; remove the rest");
    }
  }
}
