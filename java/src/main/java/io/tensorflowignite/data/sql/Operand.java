package io.tensorflowignite.data.sql;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
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
 * A checked part of an expression: the kind of its values, and of how many characters and values of
 * the row a text or decimal is put together.
 */
final class Operand {
  /** The kind of a value, as far as Ignite's SQL converts it to another one by itself. */
  enum Kind {
    /** A number of a fixed size, or a truth value. */
    NUMBER,
    /** A number of any number of digits. */
    DECIMAL,
    /** A text or bytes that a column holds. */
    TEXT_COLUMN,
    /** A text or bytes that a function makes, or a literal that stands for a very large number. */
    TEXT,
    /** A literal or a parameter that is a text, and no very large number. */
    PLAIN_TEXT,
    /** An object, which SQL compares by reading other values as serialized objects. */
    OBJECT,
    /** Null, a date, a time, a UUID: nothing that becomes a large number. */
    OTHER
  }

  /** Characters of a number, a date, a UUID. */
  static final long FIXED = 32;

  static final Operand NUMBER = new Operand(Kind.NUMBER, FIXED, 0);
  static final Operand OTHER = new Operand(Kind.OTHER, FIXED, 0);
  private static final Operand INSTANT = new Operand(Kind.OTHER, FIXED, 0);
  private static final Operand INTEGER = new Operand(Kind.NUMBER, FIXED, 0);

  private static final int MAX_DIGITS = 1000;
  private static final int MAX_EXPONENT_DIGITS = 3;
  private static final Pattern NUMERIC =
      Pattern.compile("[+-]?(\\p{Nd}*+\\.?+\\p{Nd}*+)(?:[eE][+-]?0*+(\\p{Nd}*+))?");
  private static final Pattern QUOTED = Pattern.compile("N?'(?:[^']|'')*+'");
  private static final Set<Class<?>> OTHERS =
      Set.of(DateValue.class, TimeValue.class, TimestampValue.class, NullValue.class);

  final Kind kind;

  /** Characters that do not depend on the row. */
  final long characters;

  /** How often the value can contain its row. */
  final long rows;

  /** The values of a tuple; empty for any other value. */
  final List<Operand> elements;

  private final String literal;

  Operand(Kind kind, long characters, long rows) {
    this(kind, characters, rows, null, List.of());
  }

  private Operand(Kind kind, long characters, long rows, String literal, List<Operand> elements) {
    this.kind = kind;
    this.characters = characters;
    this.rows = rows;
    this.literal = literal;
    this.elements = elements;
  }

  /**
   * A literal, which Ignite's parser must read as ours does; empty: the expression is none.
   *
   * @param text the text that contains the statement, for errors
   */
  static Optional<Operand> literal(String text, Expression expression) {
    Class<?> type = expression.getClass();
    String written = expression.toString();
    if (OTHERS.contains(type)) {
      return Optional.of(OTHER);
    } else if (type == BooleanValue.class) {
      return Optional.of(NUMBER);
    } else if (type == LongValue.class || type == DoubleValue.class) {
      return Optional.of(numberLiteral(text, written));
    } else if (type == HexValue.class) {
      Kind kind = written.contains("'") ? Kind.TEXT : Kind.DECIMAL;
      return Optional.of(new Operand(kind, 2L * written.length(), 0));
    } else if (type == StringValue.class) {
      requireQuoted(text, written);
      return Optional.of(textLiteral(((StringValue) expression).getValue().replace("''", "'")));
    } else if (type == DateTimeLiteralExpression.class) {
      requireQuoted(text, ((DateTimeLiteralExpression) expression).getValue());
      return Optional.of(OTHER);
    }
    return Optional.empty();
  }

  private static Operand numberLiteral(String text, String value) {
    if (isLargeNumber(value)) {
      throw SqlText.invalid(
          "in " + text + ": the number " + SqlText.shown(value) + " is refused",
          "SQL writes a decimal with all of its zeros, so a number has at most 1000 digits and "
              + MAX_EXPONENT_DIGITS
              + " digits of exponent; give a smaller number, or a double as a parameter (?)");
    }
    if (value.matches("[0-9]{1,18}")) {
      return new Operand(Kind.NUMBER, FIXED, 0, value, List.of());
    }
    Matcher number = NUMERIC.matcher(value);
    boolean exponent = number.matches() && number.group(2) != null && !number.group(2).isEmpty();
    long zeros = exponent ? Long.parseLong(number.group(2)) : 0;
    return new Operand(Kind.DECIMAL, value.length() + zeros, 0, value, List.of());
  }

  private static void requireQuoted(String text, String literal) {
    if (!QUOTED.matcher(literal).matches()) {
      throw SqlText.invalid(
          "in " + text + ": the text " + SqlText.shown(literal) + " is refused",
          "a text stands in single quotes, with each quote inside doubled; write 'it''s', or give"
              + " the text as a parameter (?)");
    }
  }

  /**
   * Whether a text is a number with a long exponent, or with very many digits: SQL reads
   * 1E999999999 as a decimal, and writes it out with all of its zeros.
   */
  private static boolean isLargeNumber(String text) {
    Matcher number = NUMERIC.matcher(text.trim());
    return number.matches()
        && (number.group(1).length() > MAX_DIGITS
            || (number.group(2) != null && number.group(2).length() > MAX_EXPONENT_DIGITS));
  }

  static Operand textLiteral(String text) {
    Kind kind = isLargeNumber(text) ? Kind.TEXT : Kind.PLAIN_TEXT;
    return new Operand(kind, text.length(), 0, text, List.of());
  }

  /** The value of a question mark. */
  static Operand parameter(Object value) {
    if (value instanceof String) {
      return textLiteral((String) value);
    } else if (value instanceof byte[]) {
      return new Operand(Kind.TEXT, 2L * ((byte[]) value).length, 0);
    }
    return value == null ? OTHER : new Operand(Kind.NUMBER, FIXED, 0, value.toString(), List.of());
  }

  /**
   * The value of a column.
   *
   * @param type the class of the column's values; null: unknown
   */
  static Operand column(String type) {
    switch (String.valueOf(type)) {
      case "null":
        return new Operand(Kind.OTHER, 0, 1);
      case "java.lang.Byte":
      case "java.lang.Short":
      case "java.lang.Integer":
      case "java.lang.Long":
        return INTEGER;
      case "java.lang.Boolean":
      case "java.lang.Float":
      case "java.lang.Double":
        return NUMBER;
      case "java.sql.Timestamp":
      case "java.util.Date":
        return INSTANT;
      case "java.sql.Date":
      case "java.sql.Time":
      case "java.util.UUID":
      case "java.time.LocalDate":
      case "java.time.LocalTime":
      case "java.time.LocalDateTime":
        return OTHER;
      case "java.math.BigDecimal":
        return new Operand(Kind.DECIMAL, 0, 1);
      case "java.lang.String":
      case "[B":
        return new Operand(Kind.TEXT_COLUMN, 0, 1);
      default:
        return new Operand(Kind.OBJECT, 0, 1);
    }
  }

  /** Several values in parentheses, which can only be compared. */
  static Operand tuple(List<Operand> elements) {
    return new Operand(Kind.OBJECT, 0, 0, null, elements);
  }

  /** The same value with a minus sign. */
  Operand negative() {
    String signed = literal == null ? null : "-" + literal;
    return new Operand(kind, characters + 1, rows, signed, List.of());
  }

  /** Whether it is the value of a column of instants, which SQL shows in the node's time zone. */
  boolean isInstant() {
    return this == INSTANT;
  }

  /** Whether it is the value of a column of integers. */
  boolean isInteger() {
    return this == INTEGER;
  }

  /** Whether it is a literal or parameter that no integer is equal to. */
  boolean isFraction() {
    try {
      return isNumber()
          && literal != null
          && new BigDecimal(literal).stripTrailingZeros().scale() > 0;
    } catch (NumberFormatException none) {
      return false;
    }
  }

  boolean isNumber() {
    return kind == Kind.NUMBER || kind == Kind.DECIMAL;
  }

  boolean isMadeOrStoredText() {
    return kind == Kind.TEXT || kind == Kind.TEXT_COLUMN;
  }

  /** The text of a literal or of a parameter's value. */
  Optional<String> literal() {
    return Optional.ofNullable(literal);
  }
}
