package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.statement.create.table.ColDataType;

/**
 * The allowed functions of one row. The SQL engine computes functions on the heap of a node, and
 * functions of literals even before it reads a row: so the result of each has at most a small
 * multiple of the characters of its arguments. docs/data.md describes the functions.
 */
final class SqlFunctions {
  private static final int MAX_HASHES = 100;
  // Some characters become three in the other case: U+0390 in upper case.
  private static final int CASE_CHARACTERS = 3;
  private static final int UTF8_BYTES = 3;
  private static final int HEX_DIGITS = 4;
  // The longest text of one letter of a format: the name of a time zone.
  private static final int FORMAT_CHARACTERS = 40;
  // A double without an exponent, and a byte as UTF-8 or as hexadecimal digits.
  private static final int DOUBLE_CHARACTERS = 350;
  private static final int BYTE_CHARACTERS = 3;
  private static final int MAX_DIGITS = 1000;

  private static final Map<String, Rule> RULES = new TreeMap<>();

  static {
    put(
        "ACOS ASCII ASIN ATAN ATAN2 BITAND BITGET BITOR BITXOR BIT_LENGTH CEIL CEILING"
            + " CHARACTER_LENGTH CHARINDEX CHAR_LENGTH COS COSH COT DEGREES DIFFERENCE EXP FLOOR"
            + " INSTR LENGTH LN LOCATE LOG LOG10 MOD OCTET_LENGTH ORA_HASH PI POSITION POWER"
            + " RADIANS ROUND ROUNDMAGIC SIGN SIN SINH SQRT TAN TANH ZERO",
        call -> Operand.NUMBER);
    put(
        "DATEDIFF DAY DAY_OF_MONTH DAY_OF_WEEK DAY_OF_YEAR DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT"
            + " HOUR ISO_DAY_OF_WEEK ISO_WEEK ISO_YEAR MINUTE MONTH QUARTER SECOND TIMESTAMPDIFF"
            + " WEEK YEAR",
        call -> Operand.NUMBER);
    put("ADD_MONTHS DATEADD DATE_TRUNC TIMESTAMPADD TRUNC TRUNCATE", call -> Operand.OTHER);
    put("CHAR CHR DAYNAME MONTHNAME SOUNDEX", call -> new Operand(Kind.TEXT, Operand.FIXED, 0));
    put("ABS", call -> call.arithmetic('+'));
    put(
        "HEXTORAW LEFT LTRIM RIGHT RTRIM SUBSTR SUBSTRING TRANSLATE TRIM UTF8TOSTRING",
        call -> call.text(1));
    put("LCASE LOWER UCASE UPPER", call -> call.text(CASE_CHARACTERS));
    put("STRINGTOUTF8", call -> call.text(UTF8_BYTES));
    put("RAWTOHEX", call -> call.text(HEX_DIGITS));
    put("CONCAT INSERT", call -> call.sum(Kind.TEXT));
    put("CONCAT_WS", SqlFunctions::joined);
    put("REPLACE", SqlFunctions::replaced);
    put("REGEXP_LIKE", SqlFunctions::matched);
    put("HASH", SqlFunctions::hashed);
    put("PARSEDATETIME TO_DATE TO_TIMESTAMP", SqlFunctions::parsedDate);
    put("FORMATDATETIME TO_CHAR", SqlFunctions::formatted);
    put("COALESCE DECODE GREATEST IFNULL ISNULL LEAST NULLIF NVL", call -> call.oneOf(0));
    put("CASEWHEN NVL2", call -> call.oneOf(1));
  }

  private static final Set<String> AGGREGATES =
      names(
          "COUNT SUM MIN MAX AVG GROUP_CONCAT STRING_AGG LISTAGG STDDEV_SAMP STDDEV STDDEV_POP"
              + " STDDEVP VAR_POP VARP VAR_SAMP VAR VARIANCE BOOL_OR SOME ANY BOOL_AND EVERY"
              + " SELECTIVITY HISTOGRAM BIT_OR BIT_AND MEDIAN MODE ARRAY_AGG");
  private static final Set<String> UNSTABLE =
      names(
          "RAND RANDOM SECURE_RAND RANDOM_UUID SYS_GUID UUID CURRENT_DATE CURDATE TODAY GETDATE"
              + " CURRENT_TIME SYSTIME CURTIME CURRENT_TIMESTAMP SYSDATE SYSTIMESTAMP NOW LOCALTIME"
              + " LOCALTIMESTAMP ROWNUM ROW_NUMBER _ROWID_");
  private static final Set<String> OUTSIDE =
      names(
          "FILE_READ FILE_WRITE CSVREAD CSVWRITE LINK_SCHEMA TABLE TABLE_DISTINCT SYSTEM_RANGE"
              + " UNNEST VALUES SET SIGNAL NEXTVAL CURRVAL IDENTITY SCOPE_IDENTITY"
              + " IDENTITY_VAL_LOCAL LAST_INSERT_ID LASTVAL AUTOCOMMIT READONLY DATABASE"
              + " DATABASE_PATH DISK_SPACE_USED MEMORY_FREE MEMORY_USED LOCK_MODE LOCK_TIMEOUT"
              + " SCHEMA SESSION_ID CANCEL_SESSION TRANSACTION_ID USER CURRENT_USER H2VERSION");

  private static final Set<String> PREDICTIONS =
      names("TF_PREDICT TF_PREDICT_ARRAY TF_PREDICT_TEXT");

  /**
   * Functions that are called without parentheses; a column with one of these names must be quoted.
   */
  private static final Set<String> WORDS =
      names(
          "CURRENT_DATE TODAY CURRENT_TIME SYSTIME CURRENT_TIMESTAMP SYSDATE SYSTIMESTAMP LOCALTIME"
              + " LOCALTIMESTAMP ROWNUM _ROWID_");

  private static final Set<String> NUMBERS =
      names(
          "BOOLEAN BOOL BIT TINYINT SMALLINT INT INTEGER BIGINT REAL FLOAT DOUBLE"
              + " DOUBLE_PRECISION");
  private static final Set<String> DECIMALS = names("DECIMAL NUMERIC DEC NUMBER");
  private static final Set<String> TEXTS =
      names("VARCHAR CHAR CHARACTER CHARACTER_VARYING NVARCHAR VARCHAR2 BINARY VARBINARY");
  private static final Set<String> OTHERS = names("DATE TIME TIMESTAMP DATETIME UUID");

  private SqlFunctions() {}

  private interface Rule {
    Operand result(Operation call);
  }

  /** The allowed names, in their order. */
  static Set<String> names() {
    return Collections.unmodifiableSet(RULES.keySet());
  }

  /**
   * The result of a call.
   *
   * @param name the function's name in upper case
   */
  static Operand result(String name, Operation call) {
    if (!RULES.containsKey(name)) {
      throw call.refused(
          "the function is not allowed",
          "only functions whose result has a bounded size are allowed: "
              + String.join(", ", names())
              + "; use these, give the value as a parameter (?), or compute it from the rows that"
              + " you have read (Dataset.map)");
    }
    return RULES.get(name).result(call);
  }

  private static void put(String names, Rule rule) {
    for (String name : names.split(" ")) {
      RULES.put(name, rule);
    }
  }

  private static Operand joined(Operation call) {
    call.format(0);
    Operand sum = call.sum(Kind.TEXT);
    long separators = call.operand(0).characters * call.operands.size();
    return new Operand(Kind.TEXT, sum.characters + separators, sum.rows);
  }

  private static Operand replaced(Operation call) {
    if (call.literal(2).length() > call.literal(1).length()
        || call.operand(1).isNumber()
        || call.operand(2).isNumber()) {
      throw call.refused(
          "its replacement is longer than what it replaces",
          "a text must not grow with what it contains; replace it in the rows that you have read"
              + " (Dataset.map)");
    }
    return call.text(1);
  }

  private static Operand matched(Operation call) {
    call.requireCheapExpression();
    call.formats(2);
    return Operand.NUMBER;
  }

  private static Operand hashed(Operation call) {
    call.literal(0);
    String times = call.literal(2);
    if (!times.matches("[0-9]{1,3}") || Integer.parseInt(times) > MAX_HASHES) {
      throw call.refused(
          "it hashes " + SqlText.shown(times) + " times",
          "HASH repeats at most " + MAX_HASHES + " times; give 1 to " + MAX_HASHES);
    }
    return new Operand(Kind.TEXT, Operand.FIXED, 0);
  }

  private static Operand parsedDate(Operation call) {
    call.formats(1);
    return Operand.OTHER;
  }

  private static Operand formatted(Operation call) {
    String formats = call.formats(1);
    if (formats.toUpperCase(Locale.ROOT).contains("RN")) {
      throw call.refused(
          "its format has RN",
          "a Roman number has an M for each thousand, two million letters for the largest INT;"
              + " remove RN from the format");
    }
    Operand value = call.text(1);
    long letters = Operand.FIXED + formats.length();
    return new Operand(Kind.TEXT, value.characters + letters * FORMAT_CHARACTERS, value.rows);
  }

  /** The result of a CAST to one of the allowed types of SQL. */
  static Operand cast(CastExpression cast, Operation call) {
    ColDataType type = cast.getColDataType();
    if (type == null
        || cast.getColumnDefinitions() != null && !cast.getColumnDefinitions().isEmpty()
        || cast.getFormat() != null
        || (!cast.isImplicitCast()
            && cast.keyword != null
            && !cast.keyword.equalsIgnoreCase("CAST"))
        || type.getCharacterSet() != null
        || (type.getArrayData() != null && !type.getArrayData().isEmpty())) {
      throw castRefused(call, "it is not of the form CAST(value AS type)");
    }
    // The parser leaves the arguments of some types in their name.
    String[] parts = type.getDataType().split("[(,)]");
    requireArguments(Arrays.asList(parts).subList(1, parts.length), call);
    if (type.getArgumentsStringList() != null) {
      requireArguments(type.getArgumentsStringList(), call);
    }
    String name = parts[0].trim().replaceAll("\\s+", "_").toUpperCase(Locale.ROOT);
    if (cast.isImplicitCast() && !OTHERS.contains(name)) {
      throw castRefused(call, "only dates, times and UUIDs are written as a type before a text");
    }
    Operand value = call.operand(0);
    if (NUMBERS.contains(name)) {
      return Operand.NUMBER;
    } else if (OTHERS.contains(name)) {
      return Operand.OTHER;
    } else if (TEXTS.contains(name)) {
      return value.kind == Kind.NUMBER
          ? new Operand(Kind.TEXT, DOUBLE_CHARACTERS, 0)
          : call.text(BYTE_CHARACTERS);
    } else if (DECIMALS.contains(name)) {
      if (value.isMadeOrStoredText()) {
        throw call.refused(
            "it makes a decimal of a text",
            "the text 1E999999999 becomes a decimal of a billion digits; CAST the text AS DOUBLE or"
                + " AS BIGINT");
      }
      return new Operand(Kind.DECIMAL, value.characters + MAX_DIGITS, value.rows);
    }
    throw castRefused(call, name + " is not one of the types");
  }

  /** A length, or precision and scale: a decimal gets as many digits as its scale says. */
  private static void requireArguments(List<String> arguments, Operation call) {
    for (String argument : arguments) {
      if (!argument.trim().matches("[0-9]{1,9}")
          || Integer.parseInt(argument.trim()) > MAX_DIGITS) {
        throw castRefused(
            call, argument + " is not a length, precision or scale up to " + MAX_DIGITS);
      }
    }
  }

  private static RuntimeException castRefused(Operation call, String problem) {
    return call.refused(
        problem,
        "CAST converts to BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, REAL, DOUBLE, DECIMAL, VARCHAR,"
            + " CHAR, BINARY, DATE, TIME, TIMESTAMP and UUID, with a length, precision or scale up"
            + " to "
            + MAX_DIGITS
            + "; use one of these");
  }

  /** Why a word that looks like a column's name is refused; empty: the word is allowed. */
  static Optional<String> reasonOfWord(String word) {
    return WORDS.contains(word.toUpperCase(Locale.ROOT)) ? reason(word) : Optional.empty();
  }

  /** Why a function is refused; empty: the function is allowed. */
  static Optional<String> reason(String name) {
    String known = name.toUpperCase(Locale.ROOT);
    if (AGGREGATES.contains(known)) {
      return Optional.of(
          "the aggregate "
              + known
              + " needs all rows at once, but each partition is read separately; sql= computes"
              + " COUNT, SUM, AVG, MIN and MAX for each affinity key (GROUP BY), as columns and in"
              + " HAVING; or aggregate the rows that you have read");
    }
    if (UNSTABLE.contains(known)) {
      return Optional.of(
          known
              + " gives another result with each call, but counting and reading must find the same"
              + " rows; give the value as a parameter (?)");
    }
    if (OUTSIDE.contains(known)) {
      return Optional.of(
          known
              + " uses files, sessions or other tables, but a condition may use only its row;"
              + " remove the call");
    }
    if (PREDICTIONS.contains(known)) {
      return Optional.of(
          known
              + " would call a model again each time that a row is counted or read; predict the"
              + " rows into another cache (tensorflow-ignite predict), and join it with sql=, or"
              + " keep the column that you need (--keep)");
    }
    return Optional.empty();
  }

  /** Throws unless a function has arguments and nothing else, such as an order or DISTINCT. */
  static void requirePlain(String text, Function function) {
    if (function.isDistinct()
        || function.isUnique()
        || function.isAllColumns()
        || function.isEscaped()
        || function.getKeep() != null
        || function.getOrderByElements() != null
        || function.getHavingClause() != null
        || function.getNullHandling() != null
        || function.getLimit() != null
        || function.getAttribute() != null
        || function.getExtraKeyword() != null
        || function.getOnOverflowTruncate() != null) {
      throw SqlText.invalid(
          "in " + text + ": " + SqlText.shown(function) + " is refused",
          "arguments of a function are values of one row, separated by commas; remove everything"
              + " else");
    }
  }

  private static Set<String> names(String separatedBySpaces) {
    return Set.of(separatedBySpaces.split(" "));
  }
}
