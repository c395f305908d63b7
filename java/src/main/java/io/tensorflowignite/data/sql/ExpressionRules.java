package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import net.sf.jsqlparser.expression.AnalyticExpression;
import net.sf.jsqlparser.expression.AnyComparisonExpression;
import net.sf.jsqlparser.expression.BinaryExpression;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.ExtractExpression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.JdbcNamedParameter;
import net.sf.jsqlparser.expression.JdbcParameter;
import net.sf.jsqlparser.expression.JsonAggregateFunction;
import net.sf.jsqlparser.expression.MySQLGroupConcat;
import net.sf.jsqlparser.expression.NextValExpression;
import net.sf.jsqlparser.expression.NotExpression;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.NumericBind;
import net.sf.jsqlparser.expression.RowConstructor;
import net.sf.jsqlparser.expression.SignedExpression;
import net.sf.jsqlparser.expression.TimeKeyExpression;
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
import net.sf.jsqlparser.expression.operators.relational.SupportsOldOracleJoinSyntax;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.Select;

/**
 * The allowed parts of an expression. An expression must give the same result for a row on every
 * node and at any time, need no other row, and make no values beyond a limit. Anything that is not
 * listed here is rejected. Also counts the question marks.
 */
final class ExpressionRules {
  /** The expressions that a clause of a SELECT allows beside expressions over one row. */
  interface Clause {
    /** Nothing else. */
    Clause ROWS = (expression, rules) -> Optional.empty();

    /**
     * Checks an expression that this clause has a rule for.
     *
     * @param rules check the parts of the expression
     * @return its kind and size; empty: the clause has no rule for it
     */
    Optional<Operand> check(Expression expression, ExpressionRules rules);
  }

  private static final Set<Class<?>> CONDITIONS =
      Set.of(AndExpression.class, OrExpression.class, IsDistinctExpression.class);
  static final Set<Class<?>> COMPARISONS =
      Set.of(
          EqualsTo.class,
          NotEqualsTo.class,
          GreaterThan.class,
          GreaterThanEquals.class,
          MinorThan.class,
          MinorThanEquals.class);
  private static final Set<Class<?>> ARITHMETIC =
      Set.of(Addition.class, Subtraction.class, Multiplication.class, Division.class, Modulo.class);
  private static final Set<Class<?>> LISTS =
      Set.of(
          ExpressionList.class,
          ParenthesedExpressionList.class,
          NamedExpressionList.class,
          RowConstructor.class);
  private static final Set<LikeExpression.KeyWord> PATTERNS =
      Set.of(
          LikeExpression.KeyWord.LIKE, LikeExpression.KeyWord.ILIKE, LikeExpression.KeyWord.REGEXP);

  private final String text;
  private final TableScope scope;
  private final StatementValues values;
  private final Clause clause;
  private final Set<Expression> checked = Collections.newSetFromMap(new IdentityHashMap<>());

  /**
   * @param scope the tables whose columns the expressions use
   * @param clause the further expressions that the clause allows beside expressions over one row
   */
  ExpressionRules(TableScope scope, StatementValues values, Clause clause) {
    this.text = values.text();
    this.scope = scope;
    this.values = values;
    this.clause = clause;
  }

  /** The tables whose columns the expressions use. */
  TableScope scope() {
    return scope;
  }

  /** The rules for a part of an expression that another clause's rules apply to. */
  ExpressionRules in(Clause other) {
    return new ExpressionRules(scope, values, other);
  }

  /**
   * Throws SQL_INVALID unless an expression is allowed.
   *
   * @return its kind and size; for a missing optional part (null), the kind and size of NULL
   */
  Operand check(Expression expression) {
    if (expression == null) {
      return Operand.OTHER;
    }
    if (checked.contains(expression)) {
      return Operand.NUMBER;
    }
    Optional<Operand> special = clause.check(expression, this);
    if (special.isPresent()) {
      return special.get();
    }
    requireNoOuterJoin(expression);
    Class<?> kind = expression.getClass();
    Optional<Operand> literal = Operand.literal(text, expression);
    if (literal.isPresent()) {
      return literal.get();
    } else if (CONDITIONS.contains(kind)) {
      values.compared(call(expression, checkBoth(expression)));
      return Operand.NUMBER;
    } else if (kind == EqualsTo.class) {
      return checkEquals((EqualsTo) expression);
    } else if (COMPARISONS.contains(kind)) {
      return compared(expression, checkBoth(expression));
    } else if (ARITHMETIC.contains(kind)) {
      char operator = ((BinaryExpression) expression).getStringExpression().charAt(0);
      Operation call = call(expression, checkBoth(expression));
      values.computed(call.operands);
      return values.made(expression, call.arithmetic(operator));
    } else if (kind == Concat.class) {
      return values.made(
          expression, call(expression, checkBoth(expression)).sum(Operand.Kind.TEXT));
    } else if (kind == LikeExpression.class) {
      return checkLike((LikeExpression) expression);
    } else if (LISTS.contains(kind)) {
      return checkList((ExpressionList<?>) expression);
    } else if (kind == Column.class) {
      return checkColumn((Column) expression);
    } else if (kind == JdbcParameter.class) {
      return checkParameter((JdbcParameter) expression);
    } else if (kind == Function.class) {
      return checkFunction((Function) expression);
    }
    return checkParts(expression);
  }

  /** SQL reads a = b(+) as an outer join of the tables. */
  private void requireNoOuterJoin(Expression expression) {
    if (expression instanceof SupportsOldOracleJoinSyntax
        && (((SupportsOldOracleJoinSyntax) expression).getOldOracleJoinSyntax()
                != SupportsOldOracleJoinSyntax.NO_ORACLE_JOIN
            || ((SupportsOldOracleJoinSyntax) expression).getOraclePriorPosition()
                != SupportsOldOracleJoinSyntax.NO_ORACLE_PRIOR)) {
      throw refused(expression);
    }
  }

  private Operand checkParts(Expression expression) {
    if (expression instanceof NotExpression) {
      call(expression, List.of(check(((NotExpression) expression).getExpression())));
    } else if (expression instanceof SignedExpression) {
      SignedExpression signed = (SignedExpression) expression;
      Operand operand = check(signed.getExpression());
      call(expression, List.of(operand)).arithmetic(signed.getSign());
      if (signed.getSign() != '-') {
        return operand;
      }
      Optional<Operand> negated = values.negated(operand);
      negated.ifPresent(value -> signed.setSign('+'));
      return negated.orElseGet(operand::negative);
    } else if (expression instanceof IsNullExpression) {
      check(((IsNullExpression) expression).getLeftExpression());
    } else if (expression instanceof IsBooleanExpression) {
      call(expression, List.of(check(((IsBooleanExpression) expression).getLeftExpression())));
    } else if (expression instanceof Between) {
      Between between = (Between) expression;
      return compared(
          expression,
          List.of(
              check(between.getLeftExpression()),
              check(between.getBetweenExpressionStart()),
              check(between.getBetweenExpressionEnd())));
    } else if (expression instanceof InExpression) {
      return checkIn((InExpression) expression);
    } else if (expression instanceof CaseExpression) {
      return checkCase((CaseExpression) expression);
    } else if (expression instanceof CastExpression) {
      CastExpression cast = (CastExpression) expression;
      Operand operand = check(cast.getLeftExpression());
      return values.made(expression, SqlFunctions.cast(cast, call(expression, List.of(operand))));
    } else if (expression instanceof ExtractExpression) {
      call(expression, List.of(check(((ExtractExpression) expression).getExpression())));
    } else if (expression instanceof TrimFunction) {
      TrimFunction trim = (TrimFunction) expression;
      List<Operand> operands =
          List.of(check(trim.getExpression()), check(trim.getFromExpression()));
      return values.made(expression, call(expression, operands).sum(Operand.Kind.TEXT));
    } else {
      throw refused(expression);
    }
    return Operand.NUMBER;
  }

  private List<Operand> checkBoth(Expression expression) {
    BinaryExpression operator = (BinaryExpression) expression;
    return List.of(check(operator.getLeftExpression()), check(operator.getRightExpression()));
  }

  /** Compares values, and tuples by their values at each position. */
  private Operand compared(Expression expression, List<Operand> operands) {
    int width = operands.get(0).elements.size();
    if (width > 0 && operands.stream().allMatch(tuple -> tuple.elements.size() == width)) {
      for (int i = 0; i < width; i++) {
        int at = i;
        compared(
            expression,
            operands.stream().map(tuple -> tuple.elements.get(at)).collect(Collectors.toList()));
      }
    } else {
      Operation call = call(expression, operands);
      call.compare();
      values.compared(call);
    }
    return Operand.NUMBER;
  }

  /**
   * The list of an IN. For our parser, the text after a list is a part of the list: in a IN (1, 2)
   * AND b the list is (1, 2) AND b. Ignite compares with the first part.
   */
  static Expression list(InExpression in) {
    Expression first = in.getRightExpression();
    while (first instanceof BinaryExpression) {
      first = ((BinaryExpression) first).getLeftExpression();
    }
    return first;
  }

  /**
   * A column of integers beside fractions. In a list, and of several equalities, Ignite rounds
   * these to integers.
   */
  private static Expression asDecimal(Expression column) {
    return new CastExpression("CAST", column, "DECIMAL");
  }

  private Operand checkEquals(EqualsTo equals) {
    List<Operand> operands = checkBoth(equals);
    if (operands.get(0).isInteger() && operands.get(1).isFraction()) {
      equals.setLeftExpression(asDecimal(equals.getLeftExpression()));
    } else if (operands.get(1).isInteger() && operands.get(0).isFraction()) {
      equals.setRightExpression(asDecimal(equals.getRightExpression()));
    }
    return compared(equals, operands);
  }

  private Operand checkIn(InExpression in) {
    List<Operand> operands = new ArrayList<>(List.of(check(in.getLeftExpression())));
    Expression right = in.getRightExpression();
    Expression first = list(in);
    if (LISTS.contains(first.getClass())) {
      operands.addAll(checkAll((ExpressionList<?>) first));
    } else if (first instanceof Select) {
      operands.add(check(first));
    } else {
      throw refused(right);
    }
    checked.add(first);
    if (operands.get(0).isInteger() && operands.stream().anyMatch(Operand::isFraction)) {
      in.setLeftExpression(asDecimal(in.getLeftExpression()));
    }
    compared(in, operands);
    return right == first ? Operand.NUMBER : check(right);
  }

  private Operand checkList(ExpressionList<?> list) {
    List<Operand> operands = checkAll(list);
    return operands.size() == 1 ? operands.get(0) : Operand.tuple(operands);
  }

  private List<Operand> checkAll(List<? extends Expression> expressions) {
    List<Operand> operands = new ArrayList<>();
    for (Expression expression : expressions) {
      operands.add(check(expression));
    }
    return operands;
  }

  private Operand checkCase(CaseExpression cases) {
    Operand switched = check(cases.getSwitchExpression());
    List<Operand> results = new ArrayList<>();
    for (WhenClause when : cases.getWhenClauses()) {
      Operand condition = check(when.getWhenExpression());
      compared(
          cases,
          cases.getSwitchExpression() == null ? List.of(condition) : List.of(switched, condition));
      results.add(check(when.getThenExpression()));
    }
    results.add(check(cases.getElseExpression()));
    values.computed(results);
    return call(cases, results).oneOf(0);
  }

  private Operand checkLike(LikeExpression like) {
    if (!PATTERNS.contains(like.getLikeKeyWord()) || like.isUseBinary()) {
      throw refused(like);
    }
    List<Operand> operands = new ArrayList<>(checkBoth(like));
    operands.add(like.getEscape() == null ? Operand.textLiteral("\\") : check(like.getEscape()));
    Operation call = call(like, operands);
    if (like.getRightExpression().getClass() == NullValue.class) {
      return Operand.NUMBER;
    }
    if (like.getLikeKeyWord() == LikeExpression.KeyWord.REGEXP) {
      call.requireCheapExpression();
    } else {
      call.requireCheapLike();
    }
    return Operand.NUMBER;
  }

  private Operand checkColumn(Column column) {
    String name = column.getColumnName();
    if (column.getTable() == null && !SqlTable.isQuoted(name)) {
      Optional<String> reason = SqlFunctions.reasonOfWord(name);
      if (reason.isPresent()) {
        throw SqlText.invalid("in " + text + ": " + name + " is refused", reason.get());
      }
    }
    SqlTable.requireName(text, name);
    scope.makeExact(column);
    return Operand.column(scope.type(column));
  }

  private Operand checkParameter(JdbcParameter parameter) {
    if (parameter.isUseFixedIndex()) {
      throw unnamedOnly(parameter);
    }
    return values.nextParameter(parameter);
  }

  private Operand checkFunction(Function function) {
    List<String> parts = function.getMultipartName();
    String name = SqlTable.unquoted(parts.get(parts.size() - 1)).toUpperCase(Locale.ROOT);
    Optional<String> reason = SqlFunctions.reason(name);
    if (reason.isPresent()) {
      throw SqlText.invalid(
          "in " + text + ": " + SqlText.shown(function) + " is refused", reason.get());
    }
    SqlFunctions.requirePlain(text, function);
    List<Operand> arguments = new ArrayList<>();
    if (function.getParameters() != null) {
      arguments.addAll(checkAll(function.getParameters()));
    }
    if (function.getNamedParameters() != null) {
      arguments.addAll(checkAll(function.getNamedParameters()));
    }
    Operation call = call(function, name, arguments);
    values.computed(arguments);
    return values.made(function, SqlFunctions.result(parts.size() == 1 ? name : "", call));
  }

  private Operation call(Expression expression, List<Operand> operands) {
    return call(expression, "the operation", operands);
  }

  /** A function with its checked arguments. */
  Operation call(Expression expression, String name, List<Operand> operands) {
    Operation call = new Operation(text, expression, name, operands);
    values.checkZone(call, expression);
    if (operands.stream().anyMatch(operand -> operand.kind == Operand.Kind.OBJECT)) {
      throw call.refused(
          "it uses an object",
          "SQL would read the other values as serialized objects of any size; use the object's"
              + " fields, or IS NULL");
    }
    return call;
  }

  private TensorFlowIgniteException refused(Expression expression) {
    String problem = "in " + text + ": " + SqlText.shown(expression) + " is refused";
    if (expression instanceof Select
        || expression instanceof ExistsExpression
        || expression instanceof AnyComparisonExpression) {
      return SqlText.invalid(
          problem,
          "a subquery reads other rows, but each partition is read separately; sql= takes EXISTS"
              + " (SELECT ...), IN (SELECT ...) and subqueries of one value, in its WHERE and in"
              + " columns without GROUP BY; write it there, or run it first, and give its result as"
              + " parameters");
    }
    if (expression instanceof AnalyticExpression
        || expression instanceof MySQLGroupConcat
        || expression instanceof JsonAggregateFunction) {
      return SqlText.invalid(
          problem,
          "window functions and aggregates need many rows at once, but each partition is read"
              + " separately; compute them from the rows that you have read");
    }
    if (expression instanceof TimeKeyExpression || expression instanceof NextValExpression) {
      return SqlText.invalid(
          problem,
          "it gives another result with each call, but counting and reading must find the same"
              + " rows; give the value as a parameter (?)");
    }
    if (expression instanceof UserVariable
        || expression instanceof JdbcNamedParameter
        || expression instanceof NumericBind) {
      return unnamedOnly(expression);
    }
    return SqlText.invalid(
        problem,
        "conditions and columns consist of columns, literals, question marks, comparisons, AND, OR,"
            + " NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic, CASE, CAST and functions of one row;"
            + " use only these");
  }

  private TensorFlowIgniteException unnamedOnly(Expression parameter) {
    return SqlText.invalid(
        "in " + text + ": " + parameter + " is refused",
        "a parameter is a plain question mark, and parameters=[...] gives the values in order;"
            + " write ?");
  }
}
