package io.tensorflowignite.data.sql;

import net.sf.jsqlparser.expression.Expression;

/** The parameters of a statement, and the size of the values that its functions make. */
final class StatementValues {
  /**
   * Characters that the functions of a statement may make, apart from the rows' own. Ignite keeps
   * the results of those without a column with the last thousand statements.
   */
  static final long MAX_CHARACTERS = 16 << 10;

  /** How often a value may contain its row. */
  static final long MAX_ROWS = 32;

  private final String text;
  private final Object[] parameters;
  private int used;
  private String zoned;
  private long made;

  /**
   * @param text the text that contains the statement, for errors
   * @param parameters the values of the question marks
   */
  StatementValues(String text, Object[] parameters) {
    this.text = text;
    this.parameters = parameters;
  }

  /** The text that contains the statement, for errors. */
  String text() {
    return text;
  }

  /** Number of question marks so far. */
  int used() {
    return used;
  }

  /** The value of the next question mark. */
  Operand nextParameter() {
    used++;
    return used <= parameters.length ? Operand.parameter(parameters[used - 1]) : Operand.other();
  }

  /** A part of the statement has other results in other time zones. */
  void dependsOnZone(Expression part) {
    zoned = zoned == null ? SqlErrors.shown(part) : zoned;
  }

  /** The first part that has other results in other time zones; null: none has. */
  String zoned() {
    return zoned;
  }

  /** Adds a new value to those that the statement makes. */
  Operand made(Expression expression, Operand result) {
    if (result.kind() == Operand.Kind.NUMBER || result.kind() == Operand.Kind.OTHER) {
      return result;
    }
    made = Operand.sum(made, result.characters());
    if (made > MAX_CHARACTERS || result.rows() > MAX_ROWS) {
      throw SqlErrors.invalid(
          String.format(
              "in %s: %s is refused: its result can have %,d characters and %,d times the size of a"
                  + " row, and all results up to here %,d characters",
              text, SqlErrors.shown(expression), result.characters(), result.rows(), made),
          String.format(
              "a node computes these texts and decimals on its heap, so all of a statement may have"
                  + " %,d characters, and each %d times the size of a row; give smaller numbers, or"
                  + " compute the value in your program and give it as a parameter (?)",
              MAX_CHARACTERS, MAX_ROWS));
    }
    return result;
  }
}
