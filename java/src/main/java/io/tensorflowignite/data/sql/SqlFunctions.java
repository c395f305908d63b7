package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * The allowed functions of one row, each with a rule for the size of its result. The SQL engine
 * computes functions on the heap of a node, and functions of literals even before it reads a row: a
 * result without a limit of its size could end the node. docs/data.md describes the functions.
 */
final class SqlFunctions {
  private static final int MAX_HASHES = 100;
  // Some characters become three in the other case: U+0390 in upper case.
  private static final int CASE_CHARACTERS = 3;
  private static final int UTF8_BYTES = 3;
  private static final int HEX_DIGITS = 4;
  // The longest text of one letter of a format: the name of a time zone.
  private static final int FORMAT_CHARACTERS = 40;

  private static final Pattern ROMAN = Pattern.compile("(?i)RN");

  private static final Map<String, Function<FunctionCall, Operand>> RULES = new TreeMap<>();

  static {
    put(
        "ACOS ASCII ASIN ATAN ATAN2 BITAND BITGET BITOR BITXOR BIT_LENGTH CEIL CEILING"
            + " CHARACTER_LENGTH CHARINDEX CHAR_LENGTH COS COSH COT DEGREES DIFFERENCE EXP FLOOR"
            + " INSTR LENGTH LN LOCATE LOG LOG10 MOD OCTET_LENGTH ORA_HASH PI POSITION POWER"
            + " RADIANS ROUND ROUNDMAGIC SIGN SIN SINH SQRT TAN TANH ZERO",
        call -> Operand.number());
    put(
        "DATEDIFF DAY DAY_OF_MONTH DAY_OF_WEEK DAY_OF_YEAR DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT"
            + " HOUR ISO_DAY_OF_WEEK ISO_WEEK ISO_YEAR MINUTE MONTH QUARTER SECOND TIMESTAMPDIFF"
            + " WEEK YEAR",
        call -> Operand.number());
    put("ADD_MONTHS DATEADD DATE_TRUNC TIMESTAMPADD TRUNC TRUNCATE", call -> Operand.other());
    put("CHAR CHR DAYNAME MONTHNAME SOUNDEX", call -> Operand.of(Kind.TEXT, Operand.FIXED, 0));
    put("ABS", call -> SqlMixing.arithmetic(call, '+'));
    put("LEFT LTRIM RIGHT RTRIM SUBSTR SUBSTRING TRANSLATE TRIM", call -> call.argument(0).text(1));
    put("HEXTORAW UTF8TOSTRING", call -> call.argument(0).text(1));
    put("LCASE LOWER UCASE UPPER", call -> call.argument(0).text(CASE_CHARACTERS));
    put("STRINGTOUTF8", call -> call.argument(0).text(UTF8_BYTES));
    put("RAWTOHEX", call -> call.argument(0).text(HEX_DIGITS));
    put("CONCAT INSERT", FunctionCall::sum);
    put("CONCAT_WS", SqlFunctions::joined);
    put("SPACE", call -> Operand.of(Kind.TEXT, call.wholeNumber(0), 0));
    put("LPAD RPAD", call -> Operand.of(Kind.TEXT, call.wholeNumber(1), 0));
    // One character at least: the engine also repeats an empty text.
    put(
        "REPEAT",
        call ->
            Operand.of(
                Kind.TEXT,
                Operand.product(Math.max(1, call.argument(0).characters()), call.wholeNumber(1)),
                Operand.product(call.argument(0).rows(), call.wholeNumber(1))));
    put("REPLACE", call -> call.argument(0).text(Math.max(1, call.literal(2).length())));
    put("REGEXP_LIKE", SqlFunctions::regularExpression);
    put("REGEXP_REPLACE", SqlFunctions::regularReplacement);
    put("HASH", SqlFunctions::hash);
    put("PARSEDATETIME TO_DATE TO_TIMESTAMP", SqlFunctions::parsedDate);
    put("FORMATDATETIME TO_CHAR", SqlFunctions::formatted);
    put(
        "COALESCE DECODE GREATEST IFNULL ISNULL LEAST NULLIF NVL",
        call -> SqlMixing.oneOf(call, call.arguments()));
    put(
        "CASEWHEN NVL2",
        call -> SqlMixing.oneOf(call, call.arguments().subList(1, Math.max(1, call.count()))));
  }

  private SqlFunctions() {}

  /** The allowed names, in their order. */
  static Set<String> names() {
    return Collections.unmodifiableSet(RULES.keySet());
  }

  /**
   * The rule of a function; empty: it is not allowed.
   *
   * @param name the name in upper case
   */
  static Optional<Function<FunctionCall, Operand>> rule(String name) {
    return Optional.ofNullable(RULES.get(name));
  }

  /** What to do instead of calling a function that is not allowed. */
  static String alternative() {
    return "only functions whose result has a bounded size are allowed: "
        + String.join(", ", names())
        + "; use these, or compute the value in your program and give it as a parameter (?)";
  }

  private static void put(String names, Function<FunctionCall, Operand> rule) {
    for (String name : names.split(" ")) {
      RULES.put(name, rule);
    }
  }

  private static Operand joined(FunctionCall call) {
    Operand sum = call.sum();
    Operand separators = call.argument(0).text(call.count());
    return Operand.of(
        Kind.TEXT,
        Operand.sum(sum.characters(), separators.characters()),
        Operand.sum(sum.rows(), separators.rows()));
  }

  private static Operand regularExpression(FunctionCall call) {
    PatternRules.regularExpression(call, 0, call.literal(1));
    requireLiterals(call, 2);
    return Operand.number();
  }

  private static Operand regularReplacement(FunctionCall call) {
    PatternRules.regularExpression(call, 0, call.literal(1));
    requireLiterals(call, 3);
    String replacement = call.literal(2);
    if (replacement.contains("$") || replacement.contains("\\")) {
      throw call.refused(
          "its replacement has a $ or a \\",
          "a replacement is a plain text, whose length bounds the result; remove the reference");
    }
    // A pattern that matches nothing at all puts its replacement before and after each character.
    Operand longest = call.argument(0).text(replacement.length() + 1L);
    return Operand.of(
        Kind.TEXT, Operand.sum(longest.characters(), replacement.length()), longest.rows());
  }

  private static Operand hash(FunctionCall call) {
    call.literal(0);
    if (call.wholeNumber(2) > MAX_HASHES) {
      throw call.refused(
          "it hashes " + call.wholeNumber(2) + " times",
          "HASH repeats at most " + MAX_HASHES + " times; give 1 to " + MAX_HASHES);
    }
    return Operand.of(Kind.TEXT, Operand.FIXED, 0);
  }

  private static Operand parsedDate(FunctionCall call) {
    for (int i = 1; i < call.count(); i++) {
      call.format(i);
    }
    return Operand.other();
  }

  private static Operand formatted(FunctionCall call) {
    long letters = Operand.FIXED;
    for (int i = 1; i < call.count(); i++) {
      String format = call.format(i);
      if (ROMAN.matcher(format).find()) {
        throw call.refused(
            "its format has RN",
            "a Roman number has an M for each thousand, two million letters for the largest INT;"
                + " remove RN from the format");
      }
      letters += format.length();
    }
    Operand value = call.argument(0);
    return Operand.of(
        Kind.TEXT, Operand.sum(value.characters(), letters * FORMAT_CHARACTERS), value.rows());
  }

  private static void requireLiterals(FunctionCall call, int from) {
    for (int i = from; i < call.count(); i++) {
      call.literal(i);
    }
  }
}
