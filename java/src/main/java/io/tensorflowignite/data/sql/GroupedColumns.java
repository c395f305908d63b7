package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.sql.ExpressionRules.Clause;
import io.tensorflowignite.data.sql.Operand.Kind;
import io.tensorflowignite.data.sql.TableScope.Source;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.AllColumns;
import net.sf.jsqlparser.statement.select.GroupByElement;

/**
 * The columns of a GROUP BY. The affinity key column of the cache is one of them, so that all rows
 * of a group are in one partition.
 */
final class GroupedColumns {
  private final String text;
  private final TableScope scope;
  private final List<Column> list = new ArrayList<>();
  private final Set<String> columns = new HashSet<>();
  private final Set<String> names = new HashSet<>();
  private final String written;
  private String affinityKey;

  GroupedColumns(GroupByElement groups, TableScope scope, StatementValues values) {
    this.text = values.text();
    this.scope = scope;
    ExpressionList<?> parts = groups.getGroupByExpressionList();
    if (parts == null
        || parts instanceof ParenthesedExpressionList
        || !groups.getGroupingSets().isEmpty()
        || groups.isMysqlWithRollup()) {
      throw refused(groups, "it is no list of columns");
    }
    for (Expression part : parts) {
      if (part.getClass() != Column.class) {
        throw refused(part, "it is no column");
      }
      add((Column) part);
      new ExpressionRules(scope, values, Clause.ROWS).check(part);
    }
    written = groups.toString();
    requireAffinityKey(parts);
  }

  private void add(Column column) {
    scope.makeExact(column);
    String name = SqlTable.resolveName(column.getColumnName());
    Optional<Source> source = scope.source(column);
    list.add(column);
    columns.add(known(column));
    names.add(name.toUpperCase(Locale.ROOT));
    boolean isKey =
        source.filter(table -> table == scope.main()).isPresent()
            && scope.main().table.affinity.isKey(name);
    if (isKey && affinityKey == null) {
      affinityKey = column.toString();
    }
  }

  private void requireAffinityKey(ExpressionList<?> parts) {
    SqlTable main = scope.main().table;
    Optional<String> inexact = main.affinity.inexact();
    if (inexact.isPresent()) {
      throw SqlText.invalid(
          text
              + " has groups, but of "
              + main
              + " no group lies in one partition: "
              + inexact.get(),
          "each owner makes groups of its own rows; create cache "
              + main.cache
              + " with an affinity key of type TINYINT, SMALLINT, INT, BIGINT, VARCHAR or UUID"
              + " (tensorflow_ignite.load(affinity=), CREATE TABLE ... WITH \"affinity_key=...\")");
    }
    if (affinityKey == null) {
      throw SqlText.invalid(
          text + " groups by " + SqlText.shown(parts) + ", without the affinity key",
          "each owner makes groups of its own rows, so a group must lie in one partition; add "
              + scope.main().key()
              + " to GROUP BY, or group the rows that you have read");
    }
  }

  /**
   * Throws unless there are at most as many groups as rows of the cache, which is what bounds the
   * groups that an owner holds. Called when the joins have been checked.
   */
  void requireDetermined() {
    for (Column column : list) {
      Optional<Source> source = scope.source(column);
      if (source.filter(found -> found.determined).isEmpty()) {
        throw SqlText.invalid(
            text + " groups by " + column + ", of which a row of the cache can have several values",
            String.format(
                "an owner holds its groups, so there are at most as many as rows of %s; group by"
                    + " columns of %s and of tables that are joined by their whole key (ON"
                    + " other.key = %s.column), written with the tables' names; read the cache of"
                    + " the other table instead, or write MIN(%s) as a column",
                scope.main().table, scope.main().written(), scope.main().written(), column));
      }
    }
  }

  /** The affinity key, as it is written in GROUP BY. */
  String affinityKey() {
    return affinityKey;
  }

  /** The clause, as SQL text. */
  String written() {
    return " " + written;
  }

  /** Whether an expression is a grouped column. */
  boolean contains(Expression expression) {
    return expression.getClass() == Column.class && columns.contains(known((Column) expression));
  }

  /** SQL may also read a name in GROUP BY as the name of a result: then both must be the same. */
  void requireOwnName(String result, Expression expression) {
    if (names.contains(result.toUpperCase(Locale.ROOT)) && !contains(expression)) {
      throw SqlText.invalid(
          String.format(
              "%s calls %s %s, as a grouped column is called",
              text, SqlText.shown(expression), result),
          "SQL would group by that result; give it another name (AS name)");
    }
  }

  private String known(Column column) {
    String name = SqlTable.resolveName(column.getColumnName());
    return scope.source(column).map(source -> source.written() + "." + name).orElse(name);
  }

  private RuntimeException refused(Object part, String problem) {
    return SqlText.invalid(
        "in " + text + ": " + SqlText.shown(part) + " is refused: " + problem,
        "GROUP BY has columns, separated by commas, and the affinity key of the cache, "
            + scope.main().key()
            + ", is one of them; write these");
  }

  /**
   * The aggregates of a SELECT with groups, or of a subquery that returns one row. Each has a state
   * of a fixed size for each group: no list of the group's values.
   */
  static final class Aggregates implements Clause {
    private static final Set<String> NAMES = Set.of("COUNT", "SUM", "AVG", "MIN", "MAX");
    // More than the digits of 2^63 times 2^63, which a sum of whole numbers cannot reach.
    private static final long SUM_DIGITS = 64;

    private final StatementValues values;
    private final GroupedColumns groups;

    /**
     * @param groups the columns that are the same in all rows of a group; null: all rows are one
     *     group
     */
    Aggregates(StatementValues values, GroupedColumns groups) {
      this.values = values;
      this.groups = groups;
    }

    @Override
    public Optional<Operand> check(Expression expression, ExpressionRules rules) {
      if (groups != null && groups.contains(expression)) {
        return Optional.of(rules.in(Clause.ROWS).check(expression));
      }
      if (expression.getClass() == Function.class && isAggregate((Function) expression)) {
        return Optional.of(aggregate((Function) expression, rules.in(Clause.ROWS)));
      }
      if (groups != null && expression.getClass() == Column.class) {
        throw refused(
            expression,
            "a group is one row, so its columns are columns of GROUP BY or aggregates; add "
                + expression
                + " to GROUP BY, or write MIN("
                + expression
                + ")");
      }
      return Optional.empty();
    }

    private static boolean isAggregate(Function function) {
      return function.getMultipartName().size() == 1
          && NAMES.contains(function.getName().toUpperCase(Locale.ROOT));
    }

    private Operand aggregate(Function function, ExpressionRules rows) {
      String name = function.getName().toUpperCase(Locale.ROOT);
      if (function.isDistinct() || function.isUnique()) {
        throw refused(
            function,
            "an owner would hold all values of a group on its heap; count or add all values, or"
                + " read the values and compute this from them");
      }
      ExpressionList<?> arguments = function.getParameters();
      boolean star =
          function.isAllColumns()
              || (arguments != null
                  && arguments.size() == 1
                  && arguments.get(0).getClass() == AllColumns.class);
      if (star && name.equals("COUNT") && function.toString().equalsIgnoreCase("COUNT(*)")) {
        return Operand.NUMBER;
      }
      SqlFunctions.requirePlain(values.text(), function);
      if (star || arguments == null || arguments.size() != 1) {
        throw refused(function, "an aggregate has one argument, and COUNT one or *; write " + name);
      }
      Operand value = rows.check(arguments.get(0));
      return values.made(function, result(name, value, rows.call(function, name, List.of(value))));
    }

    private static Operand result(String name, Operand value, Operation call) {
      switch (name) {
        case "COUNT":
          return Operand.NUMBER;
        case "MIN":
        case "MAX":
          return value.isInstant() ? value : new Operand(value.kind, value.characters, value.rows);
        default:
          call.arithmetic('+');
          if (name.equals("AVG")) {
            return mean(value, call);
          }
          // The sum of whole numbers of 64 bits is a decimal.
          return new Operand(
              Kind.DECIMAL,
              SUM_DIGITS + (value.kind == Kind.DECIMAL ? value.characters : 0),
              value.rows);
      }
    }

    private static Operand mean(Operand value, Operation call) {
      if (value.kind == Kind.DECIMAL) {
        throw call.refused(
            "it is the mean of decimals",
            "a mean has more digits than its values, and a column has a fixed number of them; write"
                + " AVG(CAST(... AS DOUBLE))");
      }
      return Operand.NUMBER;
    }

    private TensorFlowIgniteException refused(Expression expression, String rule) {
      return SqlText.invalid(
          "in " + values.text() + ": " + SqlText.shown(expression) + " is refused", rule);
    }
  }
}
