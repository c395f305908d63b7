package io.tensorflowignite.data.sql;

import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import net.sf.jsqlparser.expression.BooleanValue;
import net.sf.jsqlparser.expression.DateTimeLiteralExpression;
import net.sf.jsqlparser.expression.DateValue;
import net.sf.jsqlparser.expression.DoubleValue;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.HexValue;
import net.sf.jsqlparser.expression.LongValue;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.TimeValue;
import net.sf.jsqlparser.expression.TimestampValue;

/**
 * Literals and names, which Ignite's parser must read as ours does: quotes inside them are doubled,
 * and nothing else ends them.
 */
final class SqlLiterals {
  private static final Set<Class<?>> FIXED =
      Set.of(DateValue.class, TimeValue.class, TimestampValue.class, NullValue.class);
  private static final Pattern TEXT = Pattern.compile("N?'(?:[^']|'')*+'");
  private static final Pattern NAME =
      Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_$]*+|\"(?:[^\"]|\"\")*+\"");

  private SqlLiterals() {}

  /** A literal's kind and size; empty: the expression is no literal. */
  static Optional<Operand> operand(String text, Expression expression) {
    Class<?> kind = expression.getClass();
    if (FIXED.contains(kind)) {
      return Optional.of(Operand.other());
    } else if (kind == BooleanValue.class) {
      return Optional.of(Operand.number());
    } else if (kind == LongValue.class || kind == DoubleValue.class) {
      return Optional.of(number(text, expression.toString()));
    } else if (kind == HexValue.class) {
      String value = expression.toString();
      boolean bytes = value.contains("'");
      return Optional.of(
          Operand.of(bytes ? Operand.Kind.TEXT : Operand.Kind.DECIMAL, 2L * value.length(), 0));
    } else if (kind == StringValue.class) {
      requireText(text, expression.toString());
      String value = ((StringValue) expression).getValue();
      return Optional.of(Operand.textLiteral(value.replace("''", "'")));
    } else if (kind == DateTimeLiteralExpression.class) {
      requireText(text, ((DateTimeLiteralExpression) expression).getValue());
      return Optional.of(Operand.other());
    }
    return Optional.empty();
  }

  /** Refuses names that Ignite's parser may read as something else. */
  static void requireName(String text, String name) {
    if (!NAME.matcher(name).matches()) {
      throw SqlErrors.invalid(
          "in " + text + ": the name " + SqlErrors.shown(name) + " is refused",
          "names have letters, digits, _ and $; write other names in double quotes");
    }
  }

  private static Operand number(String text, String value) {
    if (NumericText.isLarge(value)) {
      throw SqlErrors.invalid(
          "in " + text + ": the number " + SqlErrors.shown(value) + " is refused",
          "SQL writes a decimal with all of its zeros, so a number has at most 1000 digits and "
              + NumericText.MAX_EXPONENT_DIGITS
              + " digits of exponent; give a smaller number, or a double as a parameter (?)");
    }
    return Operand.numberLiteral(value);
  }

  private static void requireText(String text, String literal) {
    if (!TEXT.matcher(literal).matches()) {
      throw SqlErrors.invalid(
          "in " + text + ": the text " + SqlErrors.shown(literal) + " is refused",
          "a text stands in single quotes, with each quote inside doubled; write 'it''s', or give"
              + " the text as a parameter (?)");
    }
  }
}
