package io.tensorflowignite.data.sql;

import io.tensorflowignite.TensorFlowIgniteException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.sf.jsqlparser.expression.AnalyticExpression;
import net.sf.jsqlparser.expression.AnyComparisonExpression;
import net.sf.jsqlparser.expression.BinaryExpression;
import net.sf.jsqlparser.expression.BooleanValue;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.DateTimeLiteralExpression;
import net.sf.jsqlparser.expression.DateValue;
import net.sf.jsqlparser.expression.DoubleValue;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.ExtractExpression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.HexValue;
import net.sf.jsqlparser.expression.JdbcNamedParameter;
import net.sf.jsqlparser.expression.JdbcParameter;
import net.sf.jsqlparser.expression.JsonAggregateFunction;
import net.sf.jsqlparser.expression.LongValue;
import net.sf.jsqlparser.expression.MySQLGroupConcat;
import net.sf.jsqlparser.expression.NextValExpression;
import net.sf.jsqlparser.expression.NotExpression;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.NumericBind;
import net.sf.jsqlparser.expression.RowConstructor;
import net.sf.jsqlparser.expression.SignedExpression;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.TimeKeyExpression;
import net.sf.jsqlparser.expression.TimeValue;
import net.sf.jsqlparser.expression.TimestampValue;
import net.sf.jsqlparser.expression.TrimFunction;
import net.sf.jsqlparser.expression.UserVariable;
import net.sf.jsqlparser.expression.WhenClause;
import net.sf.jsqlparser.expression.operators.arithmetic.Addition;
import net.sf.jsqlparser.expression.operators.arithmetic.Concat;
import net.sf.jsqlparser.expression.operators.arithmetic.Division;
import net.sf.jsqlparser.expression.operators.arithmetic.Modulo;
import net.sf.jsqlparser.expression.operators.arithmetic.Multiplication;
import net.sf.jsqlparser.expression.operators.arithmetic.Subtraction;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.conditional.OrExpression;
import net.sf.jsqlparser.expression.operators.relational.Between;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ExistsExpression;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.expression.operators.relational.GreaterThan;
import net.sf.jsqlparser.expression.operators.relational.GreaterThanEquals;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.IsBooleanExpression;
import net.sf.jsqlparser.expression.operators.relational.IsDistinctExpression;
import net.sf.jsqlparser.expression.operators.relational.IsNullExpression;
import net.sf.jsqlparser.expression.operators.relational.LikeExpression;
import net.sf.jsqlparser.expression.operators.relational.MinorThan;
import net.sf.jsqlparser.expression.operators.relational.MinorThanEquals;
import net.sf.jsqlparser.expression.operators.relational.NamedExpressionList;
import net.sf.jsqlparser.expression.operators.relational.NotEqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.Select;

/**
 * What an expression may be made of: what says the same of a row whoever asks, and needs no other
 * row. All that is not named here is refused. Counts the question marks on its way.
 */
final class ExpressionRules {
  private static final Set<Class<?>> LITERALS =
      set(
          NullValue.class,
          LongValue.class,
          DoubleValue.class,
          StringValue.class,
          HexValue.class,
          BooleanValue.class,
          DateValue.class,
          TimeValue.class,
          TimestampValue.class,
          DateTimeLiteralExpression.class);
  private static final Set<Class<?>> OPERATORS =
      set(
          AndExpression.class,
          OrExpression.class,
          EqualsTo.class,
          NotEqualsTo.class,
          GreaterThan.class,
          GreaterThanEquals.class,
          MinorThan.class,
          MinorThanEquals.class,
          LikeExpression.class,
          IsDistinctExpression.class,
          Addition.class,
          Subtraction.class,
          Multiplication.class,
          Division.class,
          Modulo.class,
          Concat.class);
  private static final Set<Class<?>> LISTS =
      set(
          ExpressionList.class,
          ParenthesedExpressionList.class,
          NamedExpressionList.class,
          RowConstructor.class);

  private final String text;
  private int parameters;

  /**
   * @param text the whole that expressions are part of, for errors
   */
  ExpressionRules(String text) {
    this.text = text;
  }

  /** Question marks in what was checked so far. */
  int parameters() {
    return parameters;
  }

  /** Accepts null, where a part of an expression is left out. */
  void check(Expression expression) {
    if (expression == null || LITERALS.contains(expression.getClass())) {
      return;
    }
    Class<?> kind = expression.getClass();
    if (OPERATORS.contains(kind)) {
      BinaryExpression operator = (BinaryExpression) expression;
      check(operator.getLeftExpression());
      check(operator.getRightExpression());
      if (operator instanceof LikeExpression) {
        check(((LikeExpression) operator).getEscape());
      }
    } else if (LISTS.contains(kind)) {
      ((ExpressionList<?>) expression).forEach(this::check);
    } else if (kind == Column.class) {
      checkColumn((Column) expression);
    } else if (kind == JdbcParameter.class) {
      checkParameter((JdbcParameter) expression);
    } else if (kind == Function.class) {
      checkFunction((Function) expression);
    } else if (!checkParts(expression)) {
      throw refused(expression);
    }
  }

  private boolean checkParts(Expression expression) {
    if (expression instanceof NotExpression) {
      check(((NotExpression) expression).getExpression());
    } else if (expression instanceof SignedExpression) {
      check(((SignedExpression) expression).getExpression());
    } else if (expression instanceof IsNullExpression) {
      check(((IsNullExpression) expression).getLeftExpression());
    } else if (expression instanceof IsBooleanExpression) {
      check(((IsBooleanExpression) expression).getLeftExpression());
    } else if (expression instanceof Between) {
      Between between = (Between) expression;
      check(between.getLeftExpression());
      check(between.getBetweenExpressionStart());
      check(between.getBetweenExpressionEnd());
    } else if (expression instanceof InExpression) {
      check(((InExpression) expression).getLeftExpression());
      check(((InExpression) expression).getRightExpression());
    } else if (expression instanceof CaseExpression) {
      CaseExpression cases = (CaseExpression) expression;
      check(cases.getSwitchExpression());
      for (WhenClause when : cases.getWhenClauses()) {
        check(when.getWhenExpression());
        check(when.getThenExpression());
      }
      check(cases.getElseExpression());
    } else if (expression instanceof CastExpression) {
      check(((CastExpression) expression).getLeftExpression());
    } else if (expression instanceof ExtractExpression) {
      check(((ExtractExpression) expression).getExpression());
    } else if (expression instanceof TrimFunction) {
      check(((TrimFunction) expression).getExpression());
      check(((TrimFunction) expression).getFromExpression());
    } else {
      return false;
    }
    return true;
  }

  private void checkColumn(Column column) {
    String name = column.getColumnName();
    if (column.getTable() == null && !SqlTable.isQuoted(name)) {
      Optional<String> reason = RefusedFunctions.reasonOfWord(name);
      if (reason.isPresent()) {
        throw SqlInvalid.of("in " + text + ": " + name + " is refused", reason.get());
      }
    }
  }

  private void checkParameter(JdbcParameter parameter) {
    if (parameter.isUseFixedIndex()) {
      throw unnamedOnly(parameter);
    }
    parameters++;
  }

  private void checkFunction(Function function) {
    List<String> name = function.getMultipartName();
    Optional<String> reason =
        RefusedFunctions.reason(SqlTable.unquoted(name.get(name.size() - 1)));
    if (reason.isPresent()) {
      throw SqlInvalid.of("in " + text + ": " + function + " is refused", reason.get());
    }
    if (function.isDistinct()
        || function.isUnique()
        || function.isAllColumns()
        || function.getKeep() != null
        || function.getOrderByElements() != null
        || function.getHavingClause() != null
        || function.getNullHandling() != null
        || function.getLimit() != null
        || function.getAttribute() != null
        || function.getExtraKeyword() != null
        || function.getOnOverflowTruncate() != null) {
      throw SqlInvalid.of(
          "in " + text + ": " + function + " is refused",
          "a function takes values of one row, separated by commas, and nothing else");
    }
    check(function.getParameters());
    check(function.getNamedParameters());
  }

  private TensorFlowIgniteException refused(Expression expression) {
    String what = "in " + text + ": " + SqlInvalid.shown(expression) + " is refused";
    if (expression instanceof Select
        || expression instanceof ExistsExpression
        || expression instanceof AnyComparisonExpression) {
      return SqlInvalid.of(
          what,
          "a subquery reads other rows than the one that it decides on, and partitions are read"
              + " apart; run it first, and give its result as parameters");
    }
    if (expression instanceof AnalyticExpression
        || expression instanceof MySQLGroupConcat
        || expression instanceof JsonAggregateFunction) {
      return SqlInvalid.of(
          what,
          "window functions and aggregates need many rows at once, and partitions are read apart;"
              + " compute on what you have read");
    }
    if (expression instanceof TimeKeyExpression || expression instanceof NextValExpression) {
      return SqlInvalid.of(
          what,
          "it answers differently each time it is asked, and rows that were counted must be those"
              + " that are read; give the value as a parameter, a question mark");
    }
    if (expression instanceof UserVariable
        || expression instanceof JdbcNamedParameter
        || expression instanceof NumericBind) {
      return unnamedOnly(expression);
    }
    return SqlInvalid.of(
        what,
        "conditions and columns are made of columns, literals, question marks, comparisons, AND,"
            + " OR, NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic, CASE, CAST and functions of one"
            + " row; say it with these");
  }

  private TensorFlowIgniteException unnamedOnly(Expression parameter) {
    return SqlInvalid.of(
        "in " + text + ": " + parameter + " is refused",
        "parameters are plain question marks, filled in their order; write ?");
  }

  private static Set<Class<?>> set(Class<?>... classes) {
    return new HashSet<>(Arrays.asList(classes));
  }
}
