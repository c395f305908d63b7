package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.List;

/**
 * Values of different kinds in one operation. SQL converts a text beside a number to a number: the
 * text 1E999999999, which functions can put together from harmless parts, becomes a decimal of a
 * billion digits.
 */
final class SqlMixing {
  private static final String RULE =
      "SQL would read the text as a number of any length; convert it yourself, with CAST(... AS"
          + " BIGINT) or CAST(... AS DOUBLE)";
  // Digits that H2 adds to the quotient of two decimals.
  private static final long QUOTIENT_DIGITS = 25;

  private SqlMixing() {}

  /** The result of an operation whose result is one of its operands. */
  static Operand oneOf(FunctionCall call, List<Operand> operands) {
    requireNoTextBesideNumber(call, operands, true);
    Kind kind = Kind.OTHER;
    long characters = 0;
    long rows = 0;
    for (Operand operand : operands) {
      kind = common(kind, operand.kind());
      characters = Math.max(characters, operand.characters());
      rows = Math.max(rows, operand.rows());
    }
    return Operand.of(kind, characters, rows);
  }

  /** The result of an arithmetic operation. */
  static Operand arithmetic(FunctionCall call, char operator) {
    List<Operand> operands = call.arguments();
    for (Operand operand : operands) {
      if (operand.kind() == Kind.TEXT || operand.kind() == Kind.TEXT_COLUMN) {
        throw refused(call, "it calculates with a text");
      }
    }
    if (operands.stream().noneMatch(SqlMixing::hasDigits)) {
      return operands.stream().anyMatch(Operand::isNumber) ? Operand.number() : Operand.other();
    }
    if (operator == '+' || operator == '-') {
      Operand largest = oneOf(call, operands);
      return Operand.of(Kind.DECIMAL, Operand.sum(largest.characters(), 1), largest.rows());
    }
    Operand sum = call.sum();
    return Operand.of(
        Kind.DECIMAL,
        Operand.sum(sum.characters(), operator == '/' ? QUOTIENT_DIGITS : 0),
        sum.rows());
  }

  /** Checks the operands of a comparison. */
  static void comparison(FunctionCall call) {
    requireNoTextBesideNumber(call, call.arguments(), false);
  }

  private static boolean hasDigits(Operand operand) {
    return operand.kind() == Kind.DECIMAL || operand.kind() == Kind.PLAIN_TEXT;
  }

  /**
   * @param columns whether the texts of columns are refused too: a comparison uses them as they
   *     are, and makes no new value of them
   */
  private static void requireNoTextBesideNumber(
      FunctionCall call, List<Operand> operands, boolean columns) {
    boolean number = operands.stream().anyMatch(Operand::isNumber);
    boolean text =
        operands.stream()
            .anyMatch(
                operand ->
                    operand.kind() == Kind.TEXT || (columns && operand.kind() == Kind.TEXT_COLUMN));
    if (number && text) {
      throw refused(call, "a text stands beside a number");
    }
  }

  private static Kind common(Kind left, Kind right) {
    if (left == right || right == Kind.OTHER) {
      return left;
    }
    if (left == Kind.OTHER) {
      return right == Kind.PLAIN_TEXT ? Kind.TEXT : right;
    }
    boolean numbers = left == Kind.DECIMAL || right == Kind.DECIMAL;
    boolean number = left == Kind.NUMBER || right == Kind.NUMBER;
    return numbers || number ? Kind.DECIMAL : Kind.TEXT;
  }

  private static TensorFlowIgniteException refused(FunctionCall call, String problem) {
    return call.refused(problem, RULE);
  }
}
