package io.tensorflowignite.data.sql;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.relational.Between;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.IsDistinctExpression;

/**
 * What the check of a statement adds up: its parameters, the size of the values that its functions
 * make, and whether it depends on a time zone.
 */
final class StatementValues {
  /**
   * Characters that the functions of a statement may make, apart from the rows' own. Ignite keeps
   * the results of those without a column with the last thousand statements.
   */
  private static final long MAX_CHARACTERS = 16 << 10;

  /** How often a value may contain its row. */
  private static final long MAX_ROWS = 32;

  /** What compares instants besides {@link ExpressionRules#COMPARISONS}. */
  private static final Set<Class<?>> FURTHER_COMPARISONS =
      Set.of(IsDistinctExpression.class, Between.class, InExpression.class, CaseExpression.class);

  private static final Set<String> PARSERS = Set.of("PARSEDATETIME", "TO_DATE", "TO_TIMESTAMP");
  private static final Set<String> AGGREGATES = Set.of("COUNT", "MIN", "MAX");

  /** A day and a time with the offset of a time zone. */
  private static final Pattern INSTANT =
      Pattern.compile(".*\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?\\s*(Z|[+-]\\d\\d:\\d\\d)");

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

  /** The first part that has other results in other time zones. */
  Optional<String> zoned() {
    return Optional.ofNullable(zoned);
  }

  /** The value of the next question mark. */
  Operand nextParameter() {
    used++;
    return used <= parameters.length ? Operand.parameter(parameters[used - 1]) : Operand.OTHER;
  }

  /** Adds a new value to those that the statement makes. */
  Operand made(Expression expression, Operand result) {
    if (result.kind() == Operand.Kind.NUMBER || result.kind() == Operand.Kind.OTHER) {
      return result;
    }
    made += result.characters();
    if (made > MAX_CHARACTERS || result.rows() > MAX_ROWS) {
      throw SqlErrors.invalid(
          String.format(
              "in %s: %s is refused: its result can have %,d characters and %,d times the size of a"
                  + " row, and all results up to here %,d characters",
              text, SqlErrors.shown(expression), result.characters(), result.rows(), made),
          String.format(
              "a node computes these texts and decimals on its heap, so all of a statement may have"
                  + " %,d characters, and each %d times the size of a row; use fewer and shorter"
                  + " values, or compute the text from the rows that you have read (Dataset.map)",
              MAX_CHARACTERS, MAX_ROWS));
    }
    return result;
  }

  /**
   * Remembers an operation that depends on the node's time zone: SQL reads and writes the day and
   * the time of an instant in that zone.
   *
   * @param name the function's name in upper case, or the operator
   */
  void checkZone(Expression part, String name, List<Operand> operands) {
    if (zoned == null && dependsOnZone(part, name, operands)) {
      zoned = SqlErrors.shown(part);
    }
  }

  private static boolean dependsOnZone(Expression part, String name, List<Operand> operands) {
    if (part instanceof CastExpression && makesTime((CastExpression) part)
        || PARSERS.contains(name)) {
      return true;
    }
    if (AGGREGATES.contains(name) || operands.stream().noneMatch(Operand::isInstant)) {
      return false;
    }
    boolean compares =
        ExpressionRules.COMPARISONS.contains(part.getClass())
            || FURTHER_COMPARISONS.contains(part.getClass());
    return !compares || !operands.stream().allMatch(StatementValues::isInstant);
  }

  private static boolean makesTime(CastExpression cast) {
    String type = cast.getColDataType().getDataType().toUpperCase(Locale.ROOT);
    return type.startsWith("TIME") || type.startsWith("DATE");
  }

  private static boolean isInstant(Operand operand) {
    return operand.isInstant()
        || operand.literal().filter(text -> INSTANT.matcher(text).matches()).isPresent();
  }
}
