package io.tensorflowignite.data.column;

import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * Decimals, and their texts without an exponent. A short text such as 1E999999999 is a decimal that
 * takes gigabytes when it is written without an exponent, or added to another number.
 */
public final class Decimals {
  /** The digits of the longest decimal, zeros included. */
  private static final int MAX_DIGITS = 100_000;

  private Decimals() {}

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

  /** A number with {@code scale} digits after the point, without loss. */
  static BigDecimal of(Object value, int precision, int scale) throws MismatchException {
    BigDecimal number;
    if (value instanceof BigDecimal) {
      number = (BigDecimal) value;
    } else if (value instanceof BigInteger) {
      number = new BigDecimal((BigInteger) value);
    } else if (value instanceof Long
        || value instanceof Integer
        || value instanceof Short
        || value instanceof Byte) {
      number = BigDecimal.valueOf(((Number) value).longValue());
    } else {
      throw MismatchException.otherClass(value, "BigDecimal");
    }
    if (number.signum() == 0) {
      return BigDecimal.ZERO.setScale(scale);
    }
    // Checked before setScale: a number such as 1e999999999 has too many digits to write out.
    long digits = (long) number.precision() - number.scale() + scale;
    boolean finer = number.scale() > scale && number.stripTrailingZeros().scale() > scale;
    if (digits > precision || finer) {
      throw new MismatchException(
          "is " + number + ", which does not fit decimal(" + precision + ", " + scale + ")");
    }
    return number.setScale(scale);
  }
}
