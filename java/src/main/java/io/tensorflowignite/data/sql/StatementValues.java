package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.Operand.Kind;
import java.math.BigDecimal;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.JdbcParameter;

/**
 * The totals of a statement: its parameters, the size of the values that its functions make, and
 * its first part that depends on a time zone.
 */
final class StatementValues {
  /**
   * Characters that the functions of a statement may make, apart from the rows' own. Ignite keeps
   * the results of functions without a column with the last thousand statements.
   */
  private static final long MAX_CHARACTERS = 16 << 10;

  /** How often a value may contain its row. */
  private static final long MAX_ROWS = 32;

  private final String text;
  private final Object[] parameters;

  /** The question marks whose values are doubles. */
  private final Map<Operand, Mark> doubles = new IdentityHashMap<>();

  private int used;
  private String zoned;
  private long made;

  /**
   * @param text the text that contains the statement, for errors
   * @param parameters the values of the question marks
   */
  StatementValues(String text, Object[] parameters) {
    this.text = text;
    this.parameters = parameters.clone();
  }

  /** The text that contains the statement, for errors. */
  String text() {
    return text;
  }

  /** Number of question marks so far. */
  int used() {
    return used;
  }

  /** The first part that has other results in other time zones. */
  Optional<String> zoned() {
    return Optional.ofNullable(zoned);
  }

  /** The value of the next question mark. */
  Operand nextParameter(JdbcParameter mark) {
    used++;
    return used > parameters.length ? Operand.OTHER : parameter(new Mark(mark, used - 1));
  }

  private Operand parameter(Mark mark) {
    Operand operand = Operand.parameter(parameters[mark.at]);
    if (parameters[mark.at] instanceof Double) {
      doubles.put(operand, mark);
    }
    return operand;
  }

  /**
   * The negative value of a question mark whose value is a double, in place of the value; empty: it
   * is none.
   */
  Optional<Operand> negated(Operand operand) {
    Mark mark = doubles.get(operand);
    if (mark == null) {
      return Optional.empty();
    }
    parameters[mark.at] = -(Double) parameters[mark.at];
    return Optional.of(parameter(mark));
  }

  /**
   * Names the type of doubles from which a value is computed: beside integers, Ignite would round
   * them to integers.
   */
  void computed(List<Operand> operands) {
    if (operands.stream().noneMatch(operand -> operand.kind == Kind.DECIMAL)) {
      operands.stream()
          .filter(doubles::containsKey)
          .map(operand -> doubles.get(operand).expression)
          .forEach(mark -> mark.setParameterCharacter("CAST(? AS DOUBLE)"));
    }
  }

  /** The values of the question marks, as Ignite gets them. */
  Object[] parameters() {
    return parameters.clone();
  }

  /**
   * Makes decimals of doubles that are compared with decimals alone: Ignite does not find a double
   * in an index of decimals.
   */
  void compared(Operation operation) {
    List<Operand> operands = operation.operands;
    if (operands.stream().noneMatch(operand -> operand.kind == Kind.DECIMAL)
        || operands.stream()
            .anyMatch(operand -> operand.kind == Kind.NUMBER && operand.literal().isEmpty())) {
      return;
    }
    for (Operand operand : operands) {
      Mark mark = doubles.get(operand);
      if (mark != null && parameters[mark.at] instanceof Double) {
        parameters[mark.at] = decimal((Double) parameters[mark.at], operation);
      }
    }
  }

  private static BigDecimal decimal(double value, Operation operation) {
    if (!Double.isFinite(value)) {
      throw operation.refused(
          "it compares a decimal with " + value,
          "a decimal is a finite number; give one, or write CAST(... AS DOUBLE) for the decimal");
    }
    return BigDecimal.valueOf(value);
  }

  /** Adds a new value to the values that the statement makes. */
  Operand made(Expression expression, Operand result) {
    if (result.kind == Operand.Kind.NUMBER || result.kind == Operand.Kind.OTHER) {
      return result;
    }
    made += result.characters;
    if (made > MAX_CHARACTERS || result.rows > MAX_ROWS) {
      throw SqlText.invalid(
          String.format(
              "in %s: %s is refused: its result can have %,d characters and %,d times the size of a"
                  + " row, and all results up to here %,d characters",
              text, SqlText.shown(expression), result.characters, result.rows, made),
          String.format(
              "a node computes these texts and decimals on its heap, so all of a statement may have"
                  + " %,d characters, and each %d times the size of a row; use fewer and shorter"
                  + " values, or compute the text from the rows that you have read (Dataset.map)",
              MAX_CHARACTERS, MAX_ROWS));
    }
    return result;
  }

  /** Remembers an operation that depends on the node's time zone. */
  void checkZone(Operation operation, Expression part) {
    if (zoned == null && operation.dependsOnZone()) {
      zoned = SqlText.shown(part);
    }
  }

  /** A question mark, and the index of its value. */
  private static final class Mark {
    final JdbcParameter expression;
    final int at;

    Mark(JdbcParameter expression, int at) {
      this.expression = expression;
      this.at = at;
    }
  }
}
