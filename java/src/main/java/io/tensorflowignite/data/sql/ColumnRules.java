package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.AllTableColumns;
import net.sf.jsqlparser.statement.select.SelectItem;

/** The columns of a SELECT: each has a name of its own, and all together a bounded size. */
final class ColumnRules {
  /** How often all columns of a SELECT may contain their row, together. */
  private static final long MAX_ROWS_SELECTED = 1024;

  private final String text;
  private final TableScope scope;
  private final ExpressionRules expressions;
  private final Optional<GroupedColumns> groups;
  private final List<SelectColumn> columns = new ArrayList<>();
  private final Set<String> names = new HashSet<>();
  private long rows;

  ColumnRules(
      TableScope scope, ExpressionRules expressions, Optional<GroupedColumns> groups, String text) {
    this.scope = scope;
    this.expressions = expressions;
    this.groups = groups;
    this.text = text;
  }

  /** The columns so far. */
  List<SelectColumn> columns() {
    return Collections.unmodifiableList(columns);
  }

  void add(SelectItem<?> item) {
    Expression expression = item.getExpression();
    SelectColumn column =
        expression instanceof AllColumns
            ? star((AllColumns) expression)
            : column(item, expression, columns.size() + 1);
    if (!column.isStar()) {
      groups.ifPresent(grouped -> grouped.requireOwnName(column.name(), expression));
    }
    if (!names.add(column.name())) {
      throw SqlErrors.twice(text, column.isStar() ? "*" : column.name());
    }
    columns.add(column);
  }

  private SelectColumn star(AllColumns all) {
    if (all.getExceptColumns() != null
        || all.getReplaceExpressions() != null
        || (all.getClass() != AllColumns.class && all.getClass() != AllTableColumns.class)) {
      throw SqlErrors.invalid(
          text + " has " + SqlErrors.shown(all),
          "a star means all columns of the table; name the columns that you need");
    }
    boolean ofOne = all.getClass() == AllTableColumns.class;
    if (groups.isPresent() || (!ofOne && scope.sources().size() > 1)) {
      throw SqlErrors.invalid(
          text
              + " has "
              + SqlErrors.shown(all)
              + (groups.isPresent() ? " of groups" : " of several tables"),
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
    return SelectColumn.star(source.table());
  }

  private SelectColumn column(SelectItem<?> item, Expression expression, int position) {
    // As the caller has written it; the check writes it as SQL has it.
    String written = expression instanceof Column ? ((Column) expression).getColumnName() : null;
    rows += expressions.check(expression).rows();
    if (rows > MAX_ROWS_SELECTED) {
      throw SqlErrors.invalid(
          text + " selects columns that can have " + rows + " times the size of a row",
          "the columns of a SELECT may have "
              + MAX_ROWS_SELECTED
              + " times the size of a row together; select fewer columns");
    }
    if (item.getAlias() != null) {
      SqlLiterals.requireName(text, item.getAlias().getName());
    }
    String alias = item.getAlias() == null ? null : SqlTable.unquoted(item.getAlias().getName());
    if (written != null) {
      return SelectColumn.ofTable(
          alias == null ? SqlTable.unquoted(written) : alias,
          SqlTable.resolveName(((Column) expression).getColumnName()),
          scope.source((Column) expression).map(Source::table).orElse(null));
    }
    if (alias != null) {
      return SelectColumn.computed(alias);
    }
    throw SqlErrors.invalid(
        text + ": column " + position + ", " + SqlErrors.shown(expression) + ", has no name",
        "each column of a dataset has a name; give one (AS name)");
  }
}
