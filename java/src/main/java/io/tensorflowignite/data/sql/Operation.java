package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.List;

/**
 * An operation, or a call of an allowed function, with its checked operands. SQL converts a text
 * beside a number to a number: the text 1E999999999, which functions can put together from harmless
 * parts, becomes a decimal of a billion digits. So such operands do not stand together.
 */
final class Operation {
  private static final int MAX_FORMAT = 100;

  private final String text;
  private final Object written;
  private final String name;
  private final List<Operand> operands;

  /**
   * @param text the text that contains the operation, for errors
   * @param written the operation, for errors
   * @param name the function's name in upper case, or the operator
   */
  Operation(String text, Object written, String name, List<Operand> operands) {
    this.text = text;
    this.written = written;
    this.name = name;
    this.operands = operands;
  }

  List<Operand> operands() {
    return operands;
  }

  /** The operand at an index, which may be absent: then an empty text. */
  Operand operand(int at) {
    return at < operands.size() ? operands.get(at) : Operand.textLiteral("");
  }

  /** A text or decimal of the size of all operands together. */
  Operand sum(Kind kind) {
    long characters = 0;
    long rows = 0;
    for (Operand operand : operands) {
      characters += operand.characters();
      rows += operand.rows();
    }
    return new Operand(kind, characters, rows);
  }

  /** A text of the size of the first operand, times a factor. */
  Operand text(int factor) {
    Operand first = operand(0);
    return new Operand(Kind.TEXT, first.characters() * factor, first.rows() * factor);
  }

  /** The value of an operand that must be a literal or a parameter. */
  String literal(int at) {
    return operand(at)
        .literal()
        .orElseThrow(
            () ->
                refused(
                    "argument " + (at + 1) + " is neither a literal nor a parameter",
                    "this argument of "
                        + name
                        + " decides what a row costs, so it must be known before the rows are"
                        + " read; give the value itself, or a parameter (?)"));
  }

  /** The texts of the operands from an index on, which must be short literals or parameters. */
  String formats(int from) {
    StringBuilder formats = new StringBuilder();
    for (int at = from; at < operands.size(); at++) {
      formats.append(format(at));
    }
    return formats.toString();
  }

  /** A format or separator. */
  String format(int at) {
    String format = literal(at);
    if (format.length() > MAX_FORMAT) {
      throw refused(
          "argument " + (at + 1) + " has " + format.length() + " characters",
          "it has at most " + MAX_FORMAT + " characters; give a shorter one");
    }
    return format;
  }

  /** The result if it is one of the operands from an index on. */
  Operand oneOf(int from) {
    List<Operand> results = operands.subList(Math.min(from, operands.size()), operands.size());
    requireNoTextBesideNumber(results, true);
    Kind kind = Kind.OTHER;
    long characters = 0;
    long rows = 0;
    for (Operand result : results) {
      kind = common(kind, result.kind());
      characters = Math.max(characters, result.characters());
      rows = Math.max(rows, result.rows());
    }
    return new Operand(kind, characters, rows);
  }

  /** The result of an arithmetic operation. */
  Operand arithmetic(char operator) {
    if (operands.stream().anyMatch(Operand::isMadeOrStoredText)) {
      throw mixed("it calculates with a text");
    }
    if (operands.stream().noneMatch(Operation::hasDigits)) {
      return operands.stream().anyMatch(Operand::isNumber) ? Operand.NUMBER : Operand.OTHER;
    }
    if (operator != '+' && operator != '-') {
      return sum(Kind.DECIMAL);
    }
    Operand longest = oneOf(0);
    return new Operand(Kind.DECIMAL, longest.characters() + 1, longest.rows());
  }

  /** Checks the operands of a comparison, which uses the texts of columns as they are. */
  void compare() {
    requireNoTextBesideNumber(operands, false);
  }

  private static boolean hasDigits(Operand operand) {
    return operand.kind() == Kind.DECIMAL || operand.kind() == Kind.PLAIN_TEXT;
  }

  private void requireNoTextBesideNumber(List<Operand> values, boolean columns) {
    if (values.stream().anyMatch(Operand::isNumber)
        && values.stream()
            .anyMatch(value -> columns ? value.isMadeOrStoredText() : value.kind() == Kind.TEXT)) {
      throw mixed("a text stands beside a number");
    }
  }

  private static Kind common(Kind left, Kind right) {
    if (left == right || right == Kind.OTHER) {
      return left;
    }
    if (left == Kind.OTHER) {
      return right == Kind.PLAIN_TEXT ? Kind.TEXT : right;
    }
    boolean number =
        List.of(left, right).contains(Kind.DECIMAL) || List.of(left, right).contains(Kind.NUMBER);
    return number ? Kind.DECIMAL : Kind.TEXT;
  }

  private TensorFlowIgniteException mixed(String problem) {
    return refused(
        problem,
        "SQL would read the text as a number of any length; convert it yourself, with CAST(... AS"
            + " BIGINT) or CAST(... AS DOUBLE)");
  }

  TensorFlowIgniteException refused(String problem, String rule) {
    return SqlErrors.invalid(
        "in " + text + ": " + SqlErrors.shown(written) + " is refused: " + problem, rule);
  }
}
