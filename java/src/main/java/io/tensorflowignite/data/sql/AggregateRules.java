package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.AllColumns;

/**
 * The aggregates of a SELECT with groups, or of a subquery that returns one row. Each has a state
 * of a fixed size for each group: no list of the group's values.
 */
final class AggregateRules implements Clause {
  private static final Set<String> NAMES = Set.of("COUNT", "SUM", "AVG", "MIN", "MAX");
  // More than the digits of 2^63 times 2^63, which a sum of whole numbers cannot reach.
  private static final long SUM_DIGITS = 64;

  private final StatementValues values;
  private final GroupedColumns groups;

  /**
   * @param groups the columns that are the same in all rows of a group; null: all rows are one
   *     group
   */
  AggregateRules(StatementValues values, GroupedColumns groups) {
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
          "an owner would hold all values of a group on its heap; count or add all values, or read"
              + " the values and compute this from them");
    }
    ExpressionList<?> arguments = function.getParameters();
    boolean star =
        function.isAllColumns()
            || (arguments != null
                && arguments.size() == 1
                && arguments.get(0).getClass() == AllColumns.class);
    if (star && name.equals("COUNT") && function.toString().equalsIgnoreCase("COUNT(*)")) {
      return Operand.number();
    }
    RefusedFunctions.requirePlain(values.text(), function);
    if (star || arguments == null || arguments.size() != 1) {
      throw refused(function, "an aggregate has one argument, and COUNT one or *; write " + name);
    }
    Operand value = rows.check(arguments.get(0));
    return values.made(function, result(name, value, rows.call(function, name, List.of(value))));
  }

  private static Operand result(String name, Operand value, FunctionCall call) {
    switch (name) {
      case "COUNT":
        return Operand.number();
      case "MIN":
      case "MAX":
        return value.isInstant()
            ? value
            : Operand.of(value.kind(), value.characters(), value.rows());
      default:
        SqlMixing.arithmetic(call, '+');
        if (name.equals("AVG")) {
          return mean(value, call);
        }
        // The sum of whole numbers of 64 bits is a decimal.
        return Operand.of(
            Kind.DECIMAL,
            Operand.sum(value.kind() == Kind.DECIMAL ? value.characters() : 0, SUM_DIGITS),
            value.rows());
    }
  }

  private static Operand mean(Operand value, FunctionCall call) {
    if (value.kind() == Kind.DECIMAL) {
      throw call.refused(
          "it is the mean of decimals",
          "a mean has more digits than its values, and a column has a fixed number of them; write"
              + " AVG(CAST(... AS DOUBLE))");
    }
    return Operand.number();
  }

  private TensorFlowIgniteException refused(Expression expression, String rule) {
    return SqlErrors.invalid(
        "in " + values.text() + ": " + SqlErrors.shown(expression) + " is refused", rule);
  }
}
