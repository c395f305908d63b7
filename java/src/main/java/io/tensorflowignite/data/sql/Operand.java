package io.tensorflowignite.data.sql;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A checked part of an expression: the kind of its values, and the most memory that one of them
 * takes. A size has two parts: characters that do not depend on the rows, and the number of times
 * that it can contain its row.
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

  private static final Set<Class<?>> NUMBERS =
      Set.of(
          Boolean.class,
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          Float.class,
          Double.class);
  private static final Set<String> DATES =
      Set.of(
          "java.sql.Date",
          "java.sql.Time",
          "java.sql.Timestamp",
          "java.util.Date",
          "java.util.UUID",
          "java.time.LocalDate",
          "java.time.LocalTime",
          "java.time.LocalDateTime");

  private static final Set<String> INSTANTS = Set.of("java.sql.Timestamp", "java.util.Date");
  private static final Operand INSTANT = of(Kind.OTHER, FIXED, 0);

  private final Kind kind;
  private final long characters;
  private final long rows;
  private final String literal;
  private final List<Operand> elements;

  private Operand(Kind kind, long characters, long rows, String literal) {
    this(kind, characters, rows, literal, List.of());
  }

  private Operand(Kind kind, long characters, long rows, String literal, List<Operand> elements) {
    this.kind = kind;
    this.characters = characters;
    this.rows = rows;
    this.literal = literal;
    this.elements = elements;
  }

  static Operand of(Kind kind, long characters, long rows) {
    return new Operand(kind, characters, rows, null);
  }

  static Operand number() {
    return of(Kind.NUMBER, FIXED, 0);
  }

  static Operand other() {
    return of(Kind.OTHER, FIXED, 0);
  }

  static Operand textLiteral(String text) {
    Kind kind = NumericText.isLarge(text) ? Kind.TEXT : Kind.PLAIN_TEXT;
    return new Operand(kind, text.length(), 0, text);
  }

  /**
   * @param text a number that is not too large ({@link NumericText#isLarge})
   */
  static Operand numberLiteral(String text) {
    boolean fixed = text.length() < 19 && text.chars().allMatch(c -> c >= '0' && c <= '9');
    return new Operand(
        fixed ? Kind.NUMBER : Kind.DECIMAL, fixed ? FIXED : NumericText.digits(text), 0, text);
  }

  /** Several values in parentheses, which can only be compared. */
  static Operand tuple(List<Operand> elements) {
    return new Operand(Kind.OBJECT, 0, 0, null, elements);
  }

  /** The value of a question mark. */
  static Operand parameter(Object value) {
    if (value instanceof String) {
      return textLiteral((String) value);
    }
    if (value instanceof byte[]) {
      return of(Kind.TEXT, 2L * ((byte[]) value).length, 0);
    }
    return value == null ? other() : new Operand(Kind.NUMBER, FIXED, 0, value.toString());
  }

  /**
   * @param type the class of the column's values; null: unknown
   */
  static Operand column(String type) {
    if (type == null) {
      return of(Kind.OTHER, 0, 1);
    }
    if (NUMBERS.stream().anyMatch(number -> number.getName().equals(type))) {
      return number();
    }
    if (INSTANTS.contains(type)) {
      return INSTANT;
    }
    if (DATES.contains(type)) {
      return other();
    }
    switch (type) {
      case "java.math.BigDecimal":
        return of(Kind.DECIMAL, 0, 1);
      case "java.lang.String":
      case "[B":
        return of(Kind.TEXT_COLUMN, 0, 1);
      default:
        return of(Kind.OBJECT, 0, 1);
    }
  }

  /** A text of a part's size, times a factor. */
  Operand text(long factor) {
    return of(Kind.TEXT, product(characters, factor), product(rows, factor));
  }

  /** The same value with a minus sign. */
  Operand negative() {
    return new Operand(kind, characters + 1, rows, literal == null ? null : "-" + literal);
  }

  Kind kind() {
    return kind;
  }

  /** Whether it is the value of a column of instants, which SQL shows in the node's time zone. */
  boolean isInstant() {
    return this == INSTANT;
  }

  boolean isNumber() {
    return kind == Kind.NUMBER || kind == Kind.DECIMAL;
  }

  /** The values of a tuple; empty for any other value. */
  List<Operand> elements() {
    return elements;
  }

  /** Characters that do not depend on the row. */
  long characters() {
    return characters;
  }

  /** How often the value can contain its row. */
  long rows() {
    return rows;
  }

  /** The text of a literal or of a parameter's value. */
  Optional<String> literal() {
    return Optional.ofNullable(literal);
  }

  static long sum(long left, long right) {
    return left > Long.MAX_VALUE - right ? Long.MAX_VALUE : left + right;
  }

  static long product(long left, long right) {
    return right != 0 && left > Long.MAX_VALUE / right ? Long.MAX_VALUE : left * right;
  }
}
