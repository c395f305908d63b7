package io.tensorflowignite.data.column;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.ignite.binary.BinaryObject;

/** Stored values as numbers of the requested type. */
final class NumericConversion {
  private NumericConversion() {}

  static long within(long number, long min, long max) throws MismatchException {
    if (number < min || number > max) {
      throw new MismatchException("is " + number + ", which is not within " + min + " to " + max);
    }
    return number;
  }

  /** The value as an integer within the range of a type, without loss. */
  static long whole(Object value, ElementType to) throws MismatchException {
    long number;
    if (value instanceof Long || value instanceof Integer || value instanceof Short) {
      number = ((Number) value).longValue();
    } else if (value instanceof Byte) {
      number = (Byte) value;
    } else if (value instanceof Character) {
      number = (Character) value;
    } else if (value instanceof Boolean) {
      number = (Boolean) value ? 1 : 0;
    } else if (value instanceof Timestamp) {
      number = Temporals.since1970((Timestamp) value, TimeUnit.NANOSECOND);
    } else if (value instanceof Time) {
      number = Temporals.ofDay((Time) value, TimeUnit.MILLISECOND);
    } else if (value instanceof java.sql.Date) {
      number = Temporals.day((Date) value);
    } else if (value instanceof Date) {
      number = ((Date) value).getTime();
    } else {
      number = ordinal(value, to.single.getSimpleName());
    }
    return within(number, to.min(), to.max());
  }

  static int ordinal(Object value, String expected) throws MismatchException {
    if (value instanceof Enum) {
      return ((Enum<?>) value).ordinal();
    }
    if (Enums.isValue(value)) {
      return ((BinaryObject) value).enumOrdinal();
    }
    throw MismatchException.otherClass(value, expected);
  }

  /** The double that is nearest to the value. */
  static double real(Object value, String expected) throws MismatchException {
    if (value instanceof Number) {
      return ((Number) value).doubleValue();
    }
    if (value instanceof Character) {
      return (Character) value;
    }
    if (value instanceof Boolean) {
      return (Boolean) value ? 1 : 0;
    }
    return ordinal(value, expected);
  }

  /** The number with {@code scale} digits after the point, without loss. */
  static BigDecimal decimal(Object value, int precision, int scale) throws MismatchException {
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
