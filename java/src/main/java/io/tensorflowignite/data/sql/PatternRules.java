package io.tensorflowignite.data.sql;

import java.util.Set;

/**
 * Patterns of LIKE and REGEXP. Both are matched by trying every position for every wildcard: each
 * further wildcard multiplies the time by the length of the text. A pattern must be known, and may
 * take a limited number of steps.
 */
final class PatternRules {
  private static final double MAX_STEPS = 1e9;
  // The assumed length of a column's text.
  private static final int ROW_CHARACTERS = 1000;

  /**
   * Of a regular expression. Java prepares it in steps that grow with the square of its length, and
   * H2 lets it do so for each row.
   */
  private static final int MAX_CHARACTERS = 1000;

  private static final Set<Character> CLASSES = Set.of('d', 'D', 'w', 'W', 's', 'S', 'b', 'B');

  private PatternRules() {}

  /** Checks a pattern of LIKE. */
  static void like(FunctionCall call, String pattern, String escape) {
    int wildcards = 0;
    boolean wildcard = false;
    for (int i = 0; i < pattern.length(); i++) {
      char c = pattern.charAt(i);
      if (escape.indexOf(c) == 0 && i + 1 < pattern.length()) {
        i++;
        c = 'x';
      }
      if (c == '%') {
        wildcard = true;
      } else if (c != '_' && wildcard) {
        wildcards++;
        wildcard = false;
      }
    }
    requireCheap(call, 0, wildcards, "% before other characters");
  }

  /** Checks a regular expression that is matched with the argument at an index. */
  static void regularExpression(FunctionCall call, int at, String pattern) {
    if (pattern.length() > MAX_CHARACTERS) {
      throw call.refused(
          String.format("its pattern has %,d characters", pattern.length()),
          String.format(
              "a regular expression has at most %,d characters; use a shorter one",
              MAX_CHARACTERS));
    }
    int repetitions = 0;
    boolean inClass = false;
    for (int i = 0; i < pattern.length(); i++) {
      char c = pattern.charAt(i);
      if (!inClass && isRepetition(c) && i > 0 && isRepetition(pattern.charAt(i - 1))) {
        throw refused(call, "a repetition of a repetition");
      }
      if (c == '\\') {
        i++;
        char escaped = i < pattern.length() ? pattern.charAt(i) : 'Q';
        if (Character.isLetterOrDigit(escaped) && !CLASSES.contains(escaped)) {
          throw refused(call, "\\" + escaped);
        }
      } else if (inClass) {
        if (c == '[') {
          throw refused(call, "a class inside a class");
        }
        inClass = c != ']';
      } else if (c == '[') {
        inClass = true;
      } else if (c == '(' || c == ')') {
        throw refused(call, "a group");
      } else if (c == '*' || c == '+' || c == '?') {
        repetitions++;
      } else if (c == '{') {
        int end = pattern.indexOf('}', i);
        if (end < 0 || !pattern.substring(i + 1, end).matches("[0-9]{1,3}(,[0-9]{0,3})?")) {
          throw refused(call, "a repetition that is not {n}, {n,} or {n,m} below 1000");
        }
        repetitions += pattern.substring(i, end).contains(",") ? 1 : 0;
        i = end;
        if (end + 1 < pattern.length() && isRepetition(pattern.charAt(end + 1))) {
          throw refused(call, "a repetition of a repetition");
        }
      }
    }
    boolean anchored = pattern.startsWith("^") && !pattern.contains("|");
    requireCheap(call, at, repetitions + (anchored ? 0 : 1), "repetitions, or a missing ^");
  }

  private static boolean isRepetition(char c) {
    return c == '*' || c == '+' || c == '?' || c == '{';
  }

  private static void requireCheap(FunctionCall call, int at, int wildcards, String what) {
    Operand text = call.argument(at);
    double length = (double) text.characters() + (double) ROW_CHARACTERS * Math.max(0, text.rows());
    double steps = 1;
    for (int i = 1; i <= wildcards; i++) {
      steps *= Math.max(1, length) / i;
    }
    if (steps > MAX_STEPS) {
      throw call.refused(
          String.format(
              "its pattern takes about %.0e steps for a text of %.0f characters", steps, length),
          String.format(
              "a pattern may take %.0e steps, and has %d (%s); three are possible for the text of a"
                  + " column, two for a text that is made of several; use fewer",
              MAX_STEPS, wildcards, what));
    }
  }

  private static RuntimeException refused(FunctionCall call, String part) {
    return call.refused(
        "its pattern has " + part,
        "a regular expression consists of characters, classes such as [a-z] and \\d, the anchors ^"
            + " and $, alternatives (|) and the repetitions *, +, ?, {n,m} of one character or"
            + " class; use only these");
  }
}
