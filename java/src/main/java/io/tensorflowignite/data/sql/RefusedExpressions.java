package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import net.sf.jsqlparser.expression.AnalyticExpression;
import net.sf.jsqlparser.expression.AnyComparisonExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.JdbcNamedParameter;
import net.sf.jsqlparser.expression.JsonAggregateFunction;
import net.sf.jsqlparser.expression.MySQLGroupConcat;
import net.sf.jsqlparser.expression.NextValExpression;
import net.sf.jsqlparser.expression.NumericBind;
import net.sf.jsqlparser.expression.TimeKeyExpression;
import net.sf.jsqlparser.expression.UserVariable;
import net.sf.jsqlparser.expression.operators.relational.ExistsExpression;
import net.sf.jsqlparser.statement.select.Select;

/** The errors for expressions that no rule allows. */
final class RefusedExpressions {
  private RefusedExpressions() {}

  static TensorFlowIgniteException error(String text, Expression expression) {
    String problem = "in " + text + ": " + SqlErrors.shown(expression) + " is refused";
    if (expression instanceof Select
        || expression instanceof ExistsExpression
        || expression instanceof AnyComparisonExpression) {
      return SqlErrors.invalid(
          problem,
          "a subquery reads other rows, but each partition is read separately; sql= takes EXISTS"
              + " (SELECT ...), IN (SELECT ...) and subqueries of one value, in its WHERE and in"
              + " columns without GROUP BY; write it there, or run it first, and give its result as"
              + " parameters");
    }
    if (expression instanceof AnalyticExpression
        || expression instanceof MySQLGroupConcat
        || expression instanceof JsonAggregateFunction) {
      return SqlErrors.invalid(
          problem,
          "window functions and aggregates need many rows at once, but each partition is read"
              + " separately; compute them from the rows that you have read");
    }
    if (expression instanceof TimeKeyExpression || expression instanceof NextValExpression) {
      return SqlErrors.invalid(
          problem,
          "it gives another result with each call, but counting and reading must find the same"
              + " rows; give the value as a parameter (?)");
    }
    if (expression instanceof UserVariable
        || expression instanceof JdbcNamedParameter
        || expression instanceof NumericBind) {
      return unnamedOnly(text, expression);
    }
    return SqlErrors.invalid(
        problem,
        "conditions and columns consist of columns, literals, question marks, comparisons, AND, OR,"
            + " NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic, CASE, CAST and functions of one row;"
            + " use only these");
  }

  static TensorFlowIgniteException unnamedOnly(String text, Expression parameter) {
    return SqlErrors.invalid(
        "in " + text + ": " + parameter + " is refused",
        "a parameter is a plain question mark, and parameters=[...] gives the values in order;"
            + " write ?");
  }
}
