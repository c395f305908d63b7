package io.tensorflowignite.data.sql;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Patterns of LIKE and REGEXP. Both are matched by trying every position for every wildcard: each
 * further wildcard multiplies the time by the length of the text. So a pattern is known before the
 * rows are read, and has few wildcards.
 */
final class PatternRules {
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

  private PatternRules() {}

  /** Checks a LIKE with its text, pattern and escape character. */
  static void like(Operation like) {
    String pattern = like.literal(1);
    String escape = like.literal(2);
    String plain =
        escape.isEmpty()
            ? pattern
            : pattern.replaceAll("(?s)" + Pattern.quote(escape.substring(0, 1)) + ".", "x");
    int wildcards = (int) WILDCARD.matcher(plain).results().count();
    requireCheap(like, wildcards, "% before other characters");
  }

  /** Checks the regular expression in the second operand, which is matched with the first one. */
  static void regularExpression(Operation operation) {
    String pattern = operation.literal(1);
    if (pattern.length() > MAX_CHARACTERS) {
      throw operation.refused(
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
      throw operation.refused(
          "its pattern cannot have " + SqlErrors.shown(pattern.substring(end)),
          "a regular expression consists of characters, classes such as [a-z] and \\d, the anchors"
              + " ^ and $, alternatives (|) and the repetitions *, +, ?, {n,m} below 1000 of one"
              + " character or class, without groups; use only these");
    }
    requireCheap(operation, wildcards, "repetitions, or a missing ^");
  }

  private static void requireCheap(Operation operation, int wildcards, String what) {
    Operand text = operation.operand(0);
    long length = Math.max(1, text.characters() + COLUMN * text.rows());
    double steps = 1;
    for (int i = 1; i <= wildcards; i++) {
      steps *= (double) length / i;
    }
    if (steps > MAX_STEPS) {
      throw operation.refused(
          String.format("its pattern has %d (%s)", wildcards, what),
          String.format(
              "with a text of %,d characters that takes %.0e steps, and %.0e are allowed: three are"
                  + " possible for the text of a column, two for a text that is made of several;"
                  + " use fewer",
              length, steps, MAX_STEPS));
    }
  }
}
