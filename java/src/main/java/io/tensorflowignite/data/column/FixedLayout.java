package io.tensorflowignite.data.column;

import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.Float16;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.util.DecimalUtility;

/**
 * How values of one fixed-width Arrow type are laid out: values of the class that Ignite stores for
 * the type, and values of other classes as far as they can be converted.
 */
final class FixedLayout {
  /** Bytes of one value. */
  final int width;

  /** The class of the values that {@link #put} accepts; null: none. */
  final Class<?> exact;

  final ElementType.PutValue put;

  /** Accepts values of any other class, or throws that they do not fit. */
  final ElementType.PutValue other;

  /** The class of the arrays that {@link #putArray} accepts; null: none. */
  final Class<?> array;

  final ElementType.PutArray putArray;

  private FixedLayout(
      int width, Class<?> exact, ElementType.PutValue put, ElementType.PutValue other) {
    this(width, exact, put, other, null, null);
  }

  private FixedLayout(
      int width,
      Class<?> exact,
      ElementType.PutValue put,
      ElementType.PutValue other,
      Class<?> array,
      ElementType.PutArray putArray) {
    this.width = width;
    this.exact = exact;
    this.put = put;
    this.other = other;
    this.array = array;
    this.putArray = putArray;
  }

  /**
   * @param strict accepts only the class that Ignite stores, and converts no other
   */
  static Optional<FixedLayout> of(Field field, boolean strict) {
    ArrowType type = field.getType();
    if (type instanceof ArrowType.Int) {
      return ElementType.of(type).map(element -> integer(element, field, strict));
    }
    if (type instanceof ArrowType.FloatingPoint) {
      return Optional.of(real(((ArrowType.FloatingPoint) type).getPrecision(), strict));
    }
    if (type instanceof ArrowType.Timestamp) {
      return Optional.of(instant(((ArrowType.Timestamp) type).getUnit()));
    }
    if (type instanceof ArrowType.Date) {
      return Optional.of(day(((ArrowType.Date) type).getUnit()));
    }
    if (type instanceof ArrowType.Time) {
      return Optional.of(time((ArrowType.Time) type));
    }
    if (type instanceof ArrowType.Decimal) {
      return Optional.of(decimal((ArrowType.Decimal) type));
    }
    if (type instanceof ArrowType.FixedSizeBinary) {
      return Optional.of(bytes(((ArrowType.FixedSizeBinary) type).getByteWidth()));
    }
    return Optional.empty();
  }

  private static FixedLayout integer(ElementType element, Field field, boolean strict) {
    if (LogicalType.ENUM.matches(field)) {
      ElementType.PutValue put =
          (to, at, value) -> to.setInt(at, NumericConversion.ordinal(value, "a value of an enum"));
      return new FixedLayout(element.width, null, null, put);
    }
    ElementType stored = element == ElementType.UINT16 ? ElementType.CHAR : element;
    String expected = stored.single.getSimpleName();
    ElementType.PutValue other =
        (to, at, value) -> {
          boolean fits = !strict || value.getClass() == element.single;
          if (!fits) {
            throw MismatchException.otherClass(value, expected);
          }
          element.putWhole(to, at, NumericConversion.whole(value, element));
        };
    return new FixedLayout(
        element.width, stored.single, stored.putValue, other, element.array, element.putArray);
  }

  private static FixedLayout real(FloatingPointPrecision precision, boolean strict) {
    switch (precision) {
      case HALF:
        return new FixedLayout(
            2,
            null,
            null,
            (to, at, value) ->
                to.setShort(
                    at, Float16.toFloat16((float) NumericConversion.real(value, "a number"))));
      case SINGLE:
        return real(
            ElementType.FLOAT32,
            strict,
            (to, at, value) -> to.setFloat(at, (float) NumericConversion.real(value, "a number")));
      default:
        return real(
            ElementType.FLOAT64,
            strict,
            (to, at, value) -> to.setDouble(at, NumericConversion.real(value, "a number")));
    }
  }

  private static FixedLayout real(
      ElementType element, boolean strict, ElementType.PutValue convert) {
    return new FixedLayout(
        element.width,
        element.single,
        element.putValue,
        strict ? reject(element.single) : convert,
        element.array,
        element.putArray);
  }

  private static FixedLayout instant(TimeUnit unit) {
    ElementType.PutValue put =
        (to, at, value) -> to.setLong(at, Temporals.since1970((Date) value, unit));
    boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
    Class<?> exact = fine ? Timestamp.class : Date.class;
    return new FixedLayout(8, exact, put, ofDates(put, exact));
  }

  private static FixedLayout day(DateUnit unit) {
    ElementType.PutValue put =
        unit == DateUnit.DAY
            ? (to, at, value) -> to.setInt(at, Temporals.day((Date) value))
            : (to, at, value) -> to.setLong(at, Temporals.day((Date) value) * 86_400_000L);
    int width = unit == DateUnit.DAY ? 4 : 8;
    return new FixedLayout(width, java.sql.Date.class, put, ofDates(put, java.sql.Date.class));
  }

  /** Ignite returns some dates as a class other than the one that SQL declares. */
  private static ElementType.PutValue ofDates(ElementType.PutValue put, Class<?> exact) {
    return (to, at, value) -> {
      if (!(value instanceof Date) || value instanceof Time) {
        throw MismatchException.otherClass(value, exact.getSimpleName());
      }
      put.put(to, at, value);
    };
  }

  private static FixedLayout time(ArrowType.Time type) {
    TimeUnit unit = type.getUnit();
    ElementType.PutValue put =
        type.getBitWidth() == 32
            ? (to, at, value) -> to.setInt(at, (int) Temporals.ofDay((Time) value, unit))
            : (to, at, value) -> to.setLong(at, Temporals.ofDay((Time) value, unit));
    return new FixedLayout(type.getBitWidth() / 8, Time.class, put, reject(Time.class));
  }

  private static FixedLayout decimal(ArrowType.Decimal type) {
    int width = type.getBitWidth() / 8;
    int precision = type.getPrecision();
    int scale = type.getScale();
    ElementType.PutValue put =
        (to, at, value) ->
            DecimalUtility.writeBigDecimalToArrowBuf(
                NumericConversion.decimal(value, precision, scale),
                to,
                Math.toIntExact(at / width),
                width);
    return new FixedLayout(width, BigDecimal.class, put, put);
  }

  private static FixedLayout bytes(int width) {
    ElementType.PutValue put =
        (to, at, value) -> {
          byte[] raw = (byte[]) value;
          if (raw.length != width) {
            throw new MismatchException("has " + raw.length + " bytes instead of " + width);
          }
          to.setBytes(at, raw);
        };
    ElementType.PutValue other =
        (to, at, value) -> {
          if (!(value instanceof UUID) || width != 16) {
            throw MismatchException.otherClass(value, "byte[]");
          }
          UUID id = (UUID) value;
          to.setLong(at, Long.reverseBytes(id.getMostSignificantBits()));
          to.setLong(at + 8, Long.reverseBytes(id.getLeastSignificantBits()));
        };
    return new FixedLayout(width, byte[].class, put, other);
  }

  private static ElementType.PutValue reject(Class<?> expected) {
    return (ArrowBuf to, long at, Object value) -> {
      throw MismatchException.otherClass(value, expected.getSimpleName());
    };
  }
}
