package io.tensorflowignite.data.column;

import java.math.BigDecimal;

/**
 * Decimals as texts without an exponent. A short text such as 1E999999999 is a decimal that takes
 * gigabytes when it is written without an exponent, or added to another number.
 */
public final class DecimalText {
  /** The digits of the longest decimal, zeros included. */
  static final int MAX_DIGITS = 100_000;

  private DecimalText() {}

  /**
   * The decimal of a text.
   *
   * @throws NumberFormatException the text is no decimal
   */
  public static BigDecimal parse(String text) throws MismatchException {
    if (text.length() > MAX_DIGITS) {
      throw tooLong();
    }
    return requireShort(new BigDecimal(text));
  }

  static String write(BigDecimal number) throws MismatchException {
    return requireShort(number).toPlainString();
  }

  private static BigDecimal requireShort(BigDecimal number) throws MismatchException {
    if (Math.abs((long) number.scale()) + number.precision() > MAX_DIGITS) {
      throw tooLong();
    }
    return number;
  }

  private static MismatchException tooLong() {
    return new MismatchException("has more than " + MAX_DIGITS + " digits when it is written out");
  }
}
