package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.statement.create.table.ColDataType;

/** The types of SQL that CAST may convert to, and the sizes of the results. */
final class CastRules {
  private static final Set<String> NUMBERS =
      Set.of(
          "BOOLEAN",
          "BOOL",
          "BIT",
          "TINYINT",
          "SMALLINT",
          "INT",
          "INTEGER",
          "BIGINT",
          "REAL",
          "FLOAT",
          "DOUBLE",
          "DOUBLE PRECISION");
  private static final Set<String> DECIMALS = Set.of("DECIMAL", "NUMERIC", "DEC", "NUMBER");
  private static final Set<String> TEXTS =
      Set.of("VARCHAR", "CHAR", "CHARACTER", "CHARACTER VARYING", "NVARCHAR", "VARCHAR2");
  private static final Set<String> BYTES = Set.of("BINARY", "VARBINARY");
  private static final Set<String> OTHERS = Set.of("DATE", "TIME", "TIMESTAMP", "DATETIME", "UUID");
  private static final int MAX_DIGITS = 1000;
  // A double without an exponent, and a byte as UTF-8 or as hexadecimal digits.
  private static final long DOUBLE_CHARACTERS = 350;
  private static final int BYTE_CHARACTERS = 3;

  private CastRules() {}

  static Operand result(CastExpression cast, Operand value, FunctionCall call) {
    ColDataType type = cast.getColDataType();
    if (type == null
        || cast.getColumnDefinitions() != null && !cast.getColumnDefinitions().isEmpty()
        || cast.getFormat() != null
        || (!cast.isImplicitCast()
            && cast.keyword != null
            && !cast.keyword.equalsIgnoreCase("CAST"))
        || type.getCharacterSet() != null
        || (type.getArrayData() != null && !type.getArrayData().isEmpty())) {
      throw refused(call, "it is not of the form CAST(value AS type)");
    }
    // The parser leaves the arguments of some types in their name.
    String[] parts = type.getDataType().split("[(,)]");
    requireArguments(Arrays.asList(parts).subList(1, parts.length), call);
    if (type.getArgumentsStringList() != null) {
      requireArguments(type.getArgumentsStringList(), call);
    }
    String name = parts[0].trim().replaceAll("\\s+", " ").toUpperCase(Locale.ROOT);
    if (cast.isImplicitCast() && !OTHERS.contains(name)) {
      throw refused(call, "only dates, times and UUIDs are written as a type before a text");
    }
    if (NUMBERS.contains(name)) {
      return Operand.number();
    } else if (OTHERS.contains(name)) {
      return Operand.other();
    } else if (TEXTS.contains(name) || BYTES.contains(name)) {
      return value.kind() == Kind.NUMBER
          ? Operand.of(Kind.TEXT, DOUBLE_CHARACTERS, 0)
          : value.text(BYTE_CHARACTERS);
    } else if (DECIMALS.contains(name)) {
      if (value.kind() == Kind.TEXT || value.kind() == Kind.TEXT_COLUMN) {
        throw call.refused(
            "it makes a decimal of a text",
            "the text 1E999999999 becomes a decimal of a billion digits; CAST the text AS DOUBLE or"
                + " AS BIGINT");
      }
      return Operand.of(Kind.DECIMAL, Operand.sum(value.characters(), MAX_DIGITS), value.rows());
    }
    throw refused(call, name + " is not one of the types");
  }

  /** A length, or precision and scale: a decimal gets as many digits as its scale says. */
  private static void requireArguments(List<String> arguments, FunctionCall call) {
    for (String argument : arguments) {
      if (!argument.trim().matches("[0-9]{1,9}")
          || Integer.parseInt(argument.trim()) > MAX_DIGITS) {
        throw refused(call, argument + " is not a length, precision or scale up to " + MAX_DIGITS);
      }
    }
  }

  private static RuntimeException refused(FunctionCall call, String problem) {
    return call.refused(
        problem,
        "CAST converts to BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, REAL, DOUBLE, DECIMAL, VARCHAR,"
            + " CHAR, BINARY, DATE, TIME, TIMESTAMP and UUID, with a length, precision or scale up"
            + " to "
            + MAX_DIGITS
            + "; use one of these");
  }
}
