package io.tensorflowignite.data.sql;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.sql.Operand.Kind;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import net.sf.jsqlparser.expression.CaseExpression;
import net.sf.jsqlparser.expression.CastExpression;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.operators.relational.Between;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.IsDistinctExpression;

/**
 * An operation, or a call of an allowed function, with its checked operands. SQL converts a text
 * beside a number to a number: the text 1E999999999, which functions can put together from harmless
 * parts, becomes a decimal of a billion digits. So such operands do not stand together.
 *
 * <p>Patterns of LIKE and REGEXP are matched by trying every position for every wildcard: each
 * further wildcard multiplies the time by the length of the text. So a pattern is known before the
 * rows are read, and has few wildcards.
 */
final class Operation {
  private static final int MAX_FORMAT = 100;
  private static final double MAX_STEPS = 1e9;
  // The assumed length of a column's text.
  private static final int COLUMN = 1000;

  /**
   * Of a regular expression. Java prepares it in steps that grow with the square of its length, and
   * H2 lets it do so for each row.
   */
  private static final int MAX_CHARACTERS = 1000;

  private static final Pattern WILDCARD = Pattern.compile("%[%_]*+[^%_]");
  private static final String ESCAPED = "\\\\(?:[dDwWsSbB]|[^\\p{L}\\p{Nd}])";

  /** A character, an escaped one or a class, repeated or not. */
  private static final Pattern PART =
      Pattern.compile(
          ("\\G(?:[^\\\\\\[(){*+?]|" + ESCAPED + "|\\[(?:[^\\[\\]\\\\]|" + ESCAPED + ")++\\])")
              + "(?<repetition>[*+?]|\\{\\d{1,3}(?:,\\d{0,3})?\\})?+(?![*+?{])");

  /** What compares instants besides {@link ExpressionRules#COMPARISONS}. */
  private static final Set<Class<?>> FURTHER_COMPARISONS =
      Set.of(IsDistinctExpression.class, Between.class, InExpression.class, CaseExpression.class);

  private static final Set<String> PARSERS = Set.of("PARSEDATETIME", "TO_DATE", "TO_TIMESTAMP");
  private static final Set<String> AGGREGATES = Set.of("COUNT", "MIN", "MAX");

  /** A day and a time with the offset of a time zone. */
  private static final Pattern INSTANT =
      Pattern.compile(".*\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?\\s*(Z|[+-]\\d\\d:\\d\\d)");

  private final String text;
  private final Expression written;
  private final String name;
  final List<Operand> operands;

  /**
   * @param text the text that contains the operation, for errors
   * @param written the operation, for errors
   * @param name the function's name in upper case, or the operator
   */
  Operation(String text, Expression written, String name, List<Operand> operands) {
    this.text = text;
    this.written = written;
    this.name = name;
    this.operands = operands;
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
      characters += operand.characters;
      rows += operand.rows;
    }
    return new Operand(kind, characters, rows);
  }

  /** A text of the size of the first operand, times a factor. */
  Operand text(int factor) {
    Operand first = operand(0);
    return new Operand(Kind.TEXT, first.characters * factor, first.rows * factor);
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
      kind = common(kind, result.kind);
      characters = Math.max(characters, result.characters);
      rows = Math.max(rows, result.rows);
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
    return new Operand(Kind.DECIMAL, longest.characters + 1, longest.rows);
  }

  /** Checks the operands of a comparison, which uses the texts of columns as they are. */
  void compare() {
    requireNoTextBesideNumber(operands, false);
  }

  private static boolean hasDigits(Operand operand) {
    return operand.kind == Kind.DECIMAL || operand.kind == Kind.PLAIN_TEXT;
  }

  private void requireNoTextBesideNumber(List<Operand> values, boolean columns) {
    if (values.stream().anyMatch(Operand::isNumber)
        && values.stream()
            .anyMatch(value -> columns ? value.isMadeOrStoredText() : value.kind == Kind.TEXT)) {
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
    return SqlText.invalid(
        "in " + text + ": " + SqlText.shown(written) + " is refused: " + problem, rule);
  }

  /** Checks the pattern of a LIKE, which has a text, a pattern and an escape character. */
  void requireCheapLike() {
    String pattern = literal(1);
    String escape = literal(2);
    String plain =
        escape.isEmpty()
            ? pattern
            : pattern.replaceAll("(?s)" + Pattern.quote(escape.substring(0, 1)) + ".", "x");
    int wildcards = (int) WILDCARD.matcher(plain).results().count();
    requireCheap(wildcards, "% before other characters");
  }

  /** Checks the regular expression in the second operand. The first one is matched with it. */
  void requireCheapExpression() {
    String pattern = literal(1);
    if (pattern.length() > MAX_CHARACTERS) {
      throw refused(
          String.format("its pattern has %,d characters", pattern.length()),
          String.format(
              "a regular expression has at most %,d characters; use a shorter one",
              MAX_CHARACTERS));
    }
    int wildcards = pattern.startsWith("^") && !pattern.contains("|") ? 0 : 1;
    int end = 0;
    for (Matcher part = PART.matcher(pattern); part.find(); end = part.end()) {
      String repetition = part.group("repetition");
      boolean fixed = repetition == null || repetition.matches("\\{\\d+\\}");
      wildcards += fixed ? 0 : 1;
    }
    if (end < pattern.length()) {
      throw refused(
          "its pattern cannot have " + SqlText.shown(pattern.substring(end)),
          "a regular expression consists of characters, classes such as [a-z] and \\d, the anchors"
              + " ^ and $, alternatives (|) and the repetitions *, +, ?, {n,m} below 1000 of one"
              + " character or class, without groups; use only these");
    }
    requireCheap(wildcards, "repetitions, or a missing ^");
  }

  private void requireCheap(int wildcards, String what) {
    long length = Math.max(1, operand(0).characters + COLUMN * operand(0).rows);
    double steps = 1;
    for (int i = 1; i <= wildcards; i++) {
      steps *= (double) length / i;
    }
    if (steps > MAX_STEPS) {
      throw refused(
          String.format("its pattern has %d (%s)", wildcards, what),
          String.format(
              "with a text of %,d characters that takes %.0e steps, and %.0e are allowed: three are"
                  + " possible for the text of a column, two for a text that is made of several;"
                  + " use fewer",
              length, steps, MAX_STEPS));
    }
  }

  /**
   * Whether the result depends on the node's time zone: SQL reads and writes the day and the time
   * of an instant in that zone.
   */
  boolean dependsOnZone() {
    if (written instanceof CastExpression && makesTime((CastExpression) written)
        || PARSERS.contains(name)) {
      return true;
    }
    if (AGGREGATES.contains(name) || operands.stream().noneMatch(Operand::isInstant)) {
      return false;
    }
    boolean compares =
        ExpressionRules.COMPARISONS.contains(written.getClass())
            || FURTHER_COMPARISONS.contains(written.getClass());
    return !compares || !operands.stream().allMatch(Operation::isInstant);
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
