package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.ExpressionRules.Clause;
import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.Statement;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.AllTableColumns;
import net.sf.jsqlparser.statement.select.Join;
import net.sf.jsqlparser.statement.select.PlainSelect;
import net.sf.jsqlparser.statement.select.Select;
import net.sf.jsqlparser.statement.select.SelectItem;
import net.sf.jsqlparser.statement.select.SetOperationList;

/**
 * The allowed form of a SELECT: columns FROM the cache's table, joined tables, a condition, and
 * groups. The owner of each partition answers it alone, and all answers together are the result: so
 * rows of other tables must lie where the cache's row does ({@link TableScope}), and rows of a
 * group in one partition ({@link GroupedColumns}).
 */
final class SelectRules {
  /** How often all columns of a SELECT may contain their row, together. */
  private static final long MAX_ROWS_SELECTED = 1024;

  private static final String ACROSS_PARTITIONS =
      "each owner reads its partitions separately, so a clause over all rows would mean something"
          + " else on each node; read the rows, and apply the clause to them";

  private final String text;
  private final StatementValues values;
  private final FromRules tables;
  private final TableScope scope;
  private final List<RowSelect.Column> columns = new ArrayList<>();
  private final Set<String> names = new HashSet<>();
  private long rows;

  private SelectRules(SqlTable table, FromRules.Tables others, String text, Object[] parameters) {
    this.text = text;
    scope = new TableScope(text);
    values = new StatementValues(text, parameters);
    tables = new FromRules(values, table, others);
  }

  /**
   * The rows of a table, as value and key, that meet a condition.
   *
   * @param parameters the values of the question marks
   */
  static RowSelect condition(SqlTable table, String where, Object... parameters) {
    String text = SqlText.shown("where", where);
    Expression condition = SqlText.condition(where);
    StatementValues values = new StatementValues(text, parameters);
    TableScope scope = new TableScope(text);
    scope.addFirst(table.name, table);
    new ExpressionRules(scope, values, Clause.ROWS).check(condition);
    String clauses = " FROM " + table.quoted() + " WHERE " + condition;
    RowSelect.Source source =
        new RowSelect.Source("_KEY", clauses, false, List.of(), List.of(), List.of());
    return new RowSelect("_VAL", source, List.of(), 0, values);
  }

  /** The rows of a SELECT over one table. */
  static RowSelect statement(SqlTable table, String sql, Object... parameters) {
    return statement(table, FromRules.NO_TABLES, sql, parameters);
  }

  /**
   * The rows of a SELECT.
   *
   * @param others finds other tables that it names
   */
  static RowSelect statement(
      SqlTable table, FromRules.Tables others, String sql, Object... parameters) {
    return new SelectRules(table, others, SqlText.shown("sql", sql), parameters)
        .check(SqlText.statement(sql));
  }

  /** Checks the parts in the order of their question marks, but for the names of the tables. */
  private RowSelect check(Statement statement) {
    PlainSelect select = plain(statement);
    refuseClauses(select);
    StringBuilder clauses =
        new StringBuilder(" FROM ").append(tables.first(select.getFromItem(), scope));
    Map<Source, Join> joins = joins(select);
    Optional<GroupedColumns> groups =
        Optional.ofNullable(select.getGroupBy())
            .map(parts -> new GroupedColumns(parts, scope, values));
    Clause clause =
        groups
            .<Clause>map(grouped -> new GroupedColumns.Aggregates(values, grouped))
            .orElse(tables);
    ExpressionRules rules = rules(clause);
    List<String> selected = new ArrayList<>();
    for (SelectItem<?> item : select.getSelectItems()) {
      add(item, rules, groups);
      selected.add(item.toString());
    }
    int inColumns = values.used();
    joins.forEach((source, join) -> clauses.append(join(source, join)));
    groups.ifPresent(GroupedColumns::requireDetermined);
    rules(tables).check(select.getWhere());
    clauses.append(select.getWhere() == null ? "" : " WHERE " + select.getWhere());
    groups.ifPresent(grouped -> clauses.append(grouped.written()));
    if (select.getHaving() != null) {
      requireGroups(groups);
      rules(clause).check(select.getHaving());
      clauses.append(" HAVING ").append(select.getHaving());
    }
    requireNothingElse(select);
    List<SqlTable> multiplying =
        joins.keySet().stream()
            .filter(source -> !source.single)
            .map(source -> source.table)
            .filter(table -> table.affinity.isReplicated())
            .collect(Collectors.toList());
    String key =
        groups
            .map(GroupedColumns::affinityKey)
            .orElse(tables.others().isEmpty() ? "_KEY" : scope.main().written() + "._KEY");
    RowSelect.Source source =
        new RowSelect.Source(
            key,
            clauses.toString(),
            groups.isPresent(),
            tables.others(),
            tables.lists(),
            multiplying);
    return new RowSelect(String.join(", ", selected), source, columns, inColumns, values);
  }

  private void add(SelectItem<?> item, ExpressionRules rules, Optional<GroupedColumns> groups) {
    Expression expression = item.getExpression();
    RowSelect.Column column =
        expression instanceof AllColumns
            ? star((AllColumns) expression, groups.isPresent())
            : column(item, expression, columns.size() + 1, rules);
    if (!column.isStar()) {
      groups.ifPresent(grouped -> grouped.requireOwnName(column.name, expression));
    }
    if (!names.add(column.name)) {
      throw SqlText.twice(text, column.isStar() ? "*" : column.name);
    }
    columns.add(column);
  }

  private RowSelect.Column star(AllColumns all, boolean grouped) {
    if (all.getExceptColumns() != null
        || all.getReplaceExpressions() != null
        || (all.getClass() != AllColumns.class && all.getClass() != AllTableColumns.class)) {
      throw SqlText.invalid(
          text + " has " + SqlText.shown(all),
          "a star means all columns of the table; name the columns that you need");
    }
    boolean ofOne = all.getClass() == AllTableColumns.class;
    if (grouped || (!ofOne && scope.sources().size() > 1)) {
      throw SqlText.invalid(
          text + " has " + SqlText.shown(all) + (grouped ? " of groups" : " of several tables"),
          "a star means all columns of one table; name the columns that you need, or without groups"
              + " write the star of one table, such as "
              + scope.main().written()
              + ".*");
    }
    Source source =
        ofOne
            ? scope
                .named(SqlTable.resolveName(((AllTableColumns) all).getTable().getName()))
                .orElse(scope.main())
            : scope.main();
    return new RowSelect.Column(null, null, source.table);
  }

  private RowSelect.Column column(
      SelectItem<?> item, Expression expression, int position, ExpressionRules rules) {
    // As the caller has written it; the check writes it as SQL has it.
    String written = expression instanceof Column ? ((Column) expression).getColumnName() : null;
    Operand value = rules.check(expression);
    rows += value.rows;
    if (rows > MAX_ROWS_SELECTED) {
      throw SqlText.invalid(
          text + " selects columns that can have " + rows + " times the size of a row",
          "the columns of a SELECT may have "
              + MAX_ROWS_SELECTED
              + " times the size of a row together; select fewer columns");
    }
    if (item.getAlias() != null) {
      SqlTable.requireName(text, item.getAlias().getName());
    }
    String alias = item.getAlias() == null ? null : SqlTable.unquoted(item.getAlias().getName());
    if (written != null) {
      return new RowSelect.Column(
          alias == null ? SqlTable.unquoted(written) : alias,
          SqlTable.resolveName(((Column) expression).getColumnName()),
          scope.source((Column) expression).map(found -> found.table).orElse(null));
    }
    if (alias != null) {
      return RowSelect.Column.computed(alias, value);
    }
    throw SqlText.invalid(
        text + ": column " + position + ", " + SqlText.shown(expression) + ", has no name",
        "each column of a dataset has a name; give one (AS name)");
  }

  private ExpressionRules rules(Clause clause) {
    return new ExpressionRules(scope, values, clause);
  }

  /** The joined tables, with the joins in their order. */
  private Map<Source, Join> joins(PlainSelect select) {
    Map<Source, Join> joins = new LinkedHashMap<>();
    if (select.getJoins() != null) {
      select.getJoins().forEach(join -> joins.put(tables.joined(join, scope), join));
    }
    return joins;
  }

  private String join(Source source, Join join) {
    Expression condition = FromRules.condition(join);
    rules(Clause.ROWS).check(condition);
    scope.requireCoLocated(source, condition, "ON");
    return FromRules.written(join);
  }

  private PlainSelect plain(Statement statement) {
    if (statement instanceof SetOperationList) {
      throw SqlText.invalid(
          text + " combines SELECTs (UNION, INTERSECT, EXCEPT)", ACROSS_PARTITIONS);
    }
    if (!(statement instanceof PlainSelect)) {
      String kind = statement instanceof Select ? "another form of query" : "no query";
      throw SqlText.invalid(
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
    refuse("QUALIFY", select.getQualify());
    refuse("WINDOW", select.getWindowDefinitions());
    refuse("ORDER BY", select.getOrderByElements());
    refuse("LIMIT", select.getLimit());
    refuse("LIMIT", select.getLimitBy());
    refuse("OFFSET", select.getOffset());
    refuse("FETCH", select.getFetch());
    refuse("FOR UPDATE", select.getForMode());
    refuse("LATERAL VIEW", select.getLateralViews());
  }

  private void refuse(String clause, Object value) {
    if (value != null) {
      throw SqlText.invalid(text + " has the clause " + clause, ACROSS_PARTITIONS);
    }
  }

  private void requireGroups(Optional<GroupedColumns> groups) {
    if (groups.isEmpty()) {
      throw SqlText.invalid(
          text + " has HAVING without GROUP BY",
          "without groups all rows are one group, which lies on many nodes; add GROUP BY "
              + scope.main().key()
              + ", or write a condition of rows in WHERE");
    }
  }

  /** All parts that were checked must be the whole statement: no other clause is ignored. */
  private void requireNothingElse(PlainSelect select) {
    PlainSelect plain = new PlainSelect();
    plain.setSelectItems(select.getSelectItems());
    plain.setFromItem(select.getFromItem());
    plain.setJoins(select.getJoins());
    plain.setWhere(select.getWhere());
    plain.setGroupByElement(select.getGroupBy());
    plain.setHaving(select.getHaving());
    if (!plain.toString().equals(select.toString())) {
      throw SqlText.invalid(
          text + " has more than columns, tables, a condition and groups",
          "the allowed part is: " + SqlText.shown(plain) + "; remove the rest");
    }
  }
}
