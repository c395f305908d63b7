package io.tensorflowignite.data.sql;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Texts that are numbers. SQL reads 1E999999999 as a decimal, and writes it out with all of its
 * zeros.
 */
final class NumericText {
  static final int MAX_EXPONENT_DIGITS = 3;
  private static final int MAX_DIGITS = 1000;
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?(\\p{Nd}*+\\.?+\\p{Nd}*+)(?:[eE][+-]?0*+(\\p{Nd}*+))?");

  private NumericText() {}

  /** Whether a text is a number with a long exponent, or with very many digits. */
  static boolean isLarge(String text) {
    Matcher number = NUMBER.matcher(text.trim());
    return number.matches()
        && (number.group(1).length() > MAX_DIGITS
            || (number.group(2) != null && number.group(2).length() > MAX_EXPONENT_DIGITS));
  }

  /** Characters of a number that is not large, written without an exponent. */
  static long digits(String text) {
    Matcher number = NUMBER.matcher(text);
    boolean exponent = number.matches() && number.group(2) != null && !number.group(2).isEmpty();
    return text.length() + (exponent ? Long.parseLong(number.group(2)) : 0);
  }
}
