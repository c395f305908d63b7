package io.tensorflowignite.data.sql;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import net.sf.jsqlparser.expression.BinaryExpression;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.ExtractExpression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.JdbcParameter;
import net.sf.jsqlparser.expression.NotExpression;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.RowConstructor;
import net.sf.jsqlparser.expression.SignedExpression;
import net.sf.jsqlparser.expression.TrimFunction;
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
      return Operand.other();
    }
    if (checked.contains(expression)) {
      return Operand.number();
    }
    Optional<Operand> special = clause.check(expression, this);
    if (special.isPresent()) {
      return special.get();
    }
    requireNoOuterJoin(expression);
    Class<?> kind = expression.getClass();
    Optional<Operand> literal = SqlLiterals.operand(text, expression);
    if (literal.isPresent()) {
      return literal.get();
    } else if (CONDITIONS.contains(kind)) {
      call(expression, checkBoth(expression));
      return Operand.number();
    } else if (COMPARISONS.contains(kind)) {
      return compared(expression, checkBoth(expression));
    } else if (ARITHMETIC.contains(kind)) {
      char operator = ((BinaryExpression) expression).getStringExpression().charAt(0);
      return values.made(
          expression, SqlMixing.arithmetic(call(expression, checkBoth(expression)), operator));
    } else if (kind == Concat.class) {
      return values.made(expression, call(expression, checkBoth(expression)).sum());
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
      throw RefusedExpressions.error(text, expression);
    }
  }

  private Operand checkParts(Expression expression) {
    if (expression instanceof NotExpression) {
      call(expression, List.of(check(((NotExpression) expression).getExpression())));
    } else if (expression instanceof SignedExpression) {
      SignedExpression signed = (SignedExpression) expression;
      Operand operand = check(signed.getExpression());
      SqlMixing.arithmetic(call(expression, List.of(operand)), signed.getSign());
      return signed.getSign() == '-' ? operand.negative() : operand;
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
      return values.made(
          expression, CastRules.result(cast, operand, call(expression, List.of(operand))));
    } else if (expression instanceof ExtractExpression) {
      call(expression, List.of(check(((ExtractExpression) expression).getExpression())));
    } else if (expression instanceof TrimFunction) {
      TrimFunction trim = (TrimFunction) expression;
      List<Operand> operands =
          List.of(check(trim.getExpression()), check(trim.getFromExpression()));
      return values.made(expression, call(expression, operands).sum());
    } else {
      throw RefusedExpressions.error(text, expression);
    }
    return Operand.number();
  }

  private List<Operand> checkBoth(Expression expression) {
    BinaryExpression operator = (BinaryExpression) expression;
    return List.of(check(operator.getLeftExpression()), check(operator.getRightExpression()));
  }

  /** Compares values, and tuples by their values at each position. */
  private Operand compared(Expression expression, List<Operand> operands) {
    int width = operands.get(0).elements().size();
    if (width > 0 && operands.stream().allMatch(tuple -> tuple.elements().size() == width)) {
      for (int i = 0; i < width; i++) {
        int at = i;
        compared(
            expression,
            operands.stream().map(tuple -> tuple.elements().get(at)).collect(Collectors.toList()));
      }
    } else {
      SqlMixing.comparison(call(expression, operands));
    }
    return Operand.number();
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

  private Operand checkIn(InExpression in) {
    List<Operand> operands = new ArrayList<>(List.of(check(in.getLeftExpression())));
    Expression right = in.getRightExpression();
    Expression first = list(in);
    if (LISTS.contains(first.getClass())) {
      operands.addAll(checkAll((ExpressionList<?>) first));
    } else if (first instanceof Select) {
      operands.add(check(first));
    } else {
      throw RefusedExpressions.error(text, right);
    }
    checked.add(first);
    compared(in, operands);
    return right == first ? Operand.number() : check(right);
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
    return SqlMixing.oneOf(call(cases, results), results);
  }

  private Operand checkLike(LikeExpression like) {
    if (!PATTERNS.contains(like.getLikeKeyWord()) || like.isUseBinary()) {
      throw RefusedExpressions.error(text, like);
    }
    List<Operand> operands = new ArrayList<>(checkBoth(like));
    operands.add(like.getEscape() == null ? Operand.textLiteral("\\") : check(like.getEscape()));
    FunctionCall call = call(like, operands);
    if (like.getRightExpression().getClass() == NullValue.class) {
      return Operand.number();
    }
    if (like.getLikeKeyWord() == LikeExpression.KeyWord.REGEXP) {
      PatternRules.regularExpression(call, 0, call.literal(1));
    } else {
      PatternRules.like(call, call.literal(1), call.literal(2));
    }
    return Operand.number();
  }

  private Operand checkColumn(Column column) {
    String name = column.getColumnName();
    if (column.getTable() == null && !SqlTable.isQuoted(name)) {
      Optional<String> reason = RefusedFunctions.reasonOfWord(name);
      if (reason.isPresent()) {
        throw SqlErrors.invalid("in " + text + ": " + name + " is refused", reason.get());
      }
    }
    SqlLiterals.requireName(text, name);
    scope.makeExact(column);
    return Operand.column(scope.type(column));
  }

  private Operand checkParameter(JdbcParameter parameter) {
    if (parameter.isUseFixedIndex()) {
      throw RefusedExpressions.unnamedOnly(text, parameter);
    }
    return values.nextParameter();
  }

  private Operand checkFunction(Function function) {
    List<String> parts = function.getMultipartName();
    String name = SqlTable.unquoted(parts.get(parts.size() - 1)).toUpperCase(Locale.ROOT);
    Optional<String> reason = RefusedFunctions.reason(name);
    if (reason.isPresent()) {
      throw SqlErrors.invalid(
          "in " + text + ": " + SqlErrors.shown(function) + " is refused", reason.get());
    }
    RefusedFunctions.requirePlain(text, function);
    List<Operand> arguments = new ArrayList<>();
    if (function.getParameters() != null) {
      arguments.addAll(checkAll(function.getParameters()));
    }
    if (function.getNamedParameters() != null) {
      arguments.addAll(checkAll(function.getNamedParameters()));
    }
    FunctionCall call = call(function, name, arguments);
    return values.made(
        function,
        SqlFunctions.rule(parts.size() == 1 ? name : "")
            .orElseThrow(() -> call.refused(name + " is not allowed", SqlFunctions.alternative()))
            .apply(call));
  }

  private FunctionCall call(Expression expression, List<Operand> operands) {
    return call(expression, "the operation", operands);
  }

  /** A function with its checked arguments. */
  FunctionCall call(Expression expression, String name, List<Operand> operands) {
    FunctionCall call = new FunctionCall(text, expression, name, operands);
    if (ZoneRules.dependsOnZone(expression, name, operands)) {
      values.dependsOnZone(expression);
    }
    if (operands.stream().anyMatch(operand -> operand.kind() == Operand.Kind.OBJECT)) {
      throw call.refused(
          "it uses an object",
          "SQL would read the other values as serialized objects of any size; use the object's"
              + " fields, or IS NULL");
    }
    return call;
  }
}
