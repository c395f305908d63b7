package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.Float16;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.util.DecimalUtility;

/** Numbers, dates and times: one buffer of values of a fixed width, side by side. */
final class FixedWidthColumn extends Column {
  private final Layout layout;
  private final Class<?> exact;
  private final int width;
  private final GrowingBuffer values;

  /**
   * @param count expected values of the first batch; 0: not known
   */
  FixedWidthColumn(Layout layout, Nulls nulls, BufferAllocator allocator, long count) {
    super(nulls, allocator);
    this.layout = layout;
    exact = layout.exact;
    width = layout.width;
    values = buffer(count * width);
  }

  @Override
  void put(Object value) throws MismatchException {
    long at = (long) count() * width;
    ArrowBuf to = values.require(requireOffset(at + width));
    if (value.getClass() == exact) {
      layout.put.put(to, at, value);
    } else {
      layout.other.put(to, at, value);
    }
    added(1);
  }

  @Override
  void putAll(Object array) throws MismatchException {
    if (array.getClass() != layout.array) {
      super.putAll(array);
      return;
    }
    int length = Array.getLength(array);
    long at = (long) count() * width;
    long bytes = (long) length * width;
    requireOffset(at + bytes);
    layout.putArray.put(values.requireView(at, bytes), array);
    added(length);
  }

  @Override
  void putDefault() throws MismatchException {
    long at = (long) count() * width;
    values.require(requireOffset(at + width)).setZero(at, width);
    added(1);
  }

  @Override
  public long bytes() {
    return (long) count() * width;
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    return List.of(values.take(bytes()));
  }

  /** Booleans: one bit for each value. */
  static final class Bits extends Column {
    private final GrowingBuffer bits = buffer(0);

    Bits(Nulls nulls, BufferAllocator allocator) {
      super(nulls, allocator);
    }

    @Override
    void put(Object value) throws MismatchException {
      if (!(value instanceof Boolean)) {
        throw MismatchException.otherClass(value, "Boolean");
      }
      add((Boolean) value);
    }

    @Override
    void putAll(Object array) throws MismatchException {
      if (!(array instanceof boolean[])) {
        super.putAll(array);
        return;
      }
      for (boolean value : (boolean[]) array) {
        add(value);
      }
    }

    @Override
    void putDefault() {
      add(false);
    }

    private void add(boolean value) {
      bits.setBit(count(), value);
      added(1);
    }

    @Override
    public long bytes() {
      return GrowingBuffer.bytesOfBits(count());
    }

    @Override
    List<ArrowBuf> takeBuffers() {
      return List.of(bits.take(bytes()));
    }
  }

  /**
   * How values of one fixed-width Arrow type are laid out: values of the class that Ignite stores
   * for the type, and values of other classes as far as they can be converted.
   */
  static final class Layout {
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

    private Layout(
        int width, Class<?> exact, ElementType.PutValue put, ElementType.PutValue other) {
      this(width, exact, put, other, null, null);
    }

    private Layout(
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
    static Optional<Layout> of(Field field, boolean strict) {
      ArrowType type = field.getType();
      if (type instanceof ArrowType.Int) {
        return ElementType.of(type).map(element -> integer(element, field, strict));
      }
      if (type instanceof ArrowType.FloatingPoint) {
        return Optional.of(real(((ArrowType.FloatingPoint) type).getPrecision(), strict));
      }
      if (type instanceof ArrowType.Timestamp) {
        return Optional.of(instant(((ArrowType.Timestamp) type).getUnit(), strict));
      }
      if (type instanceof ArrowType.Date) {
        return Optional.of(day(((ArrowType.Date) type).getUnit()));
      }
      if (type instanceof ArrowType.Time) {
        return Optional.of(time((ArrowType.Time) type, strict));
      }
      if (type instanceof ArrowType.Decimal) {
        return Optional.of(decimal((ArrowType.Decimal) type));
      }
      if (type instanceof ArrowType.FixedSizeBinary) {
        return Optional.of(bytes(((ArrowType.FixedSizeBinary) type).getByteWidth()));
      }
      return Optional.empty();
    }

    private static Layout integer(ElementType element, Field field, boolean strict) {
      if (LogicalType.ENUM.matches(field)) {
        ElementType.PutValue put =
            (to, at, value) -> to.setInt(at, LogicalType.ordinal(value, "a value of an enum"));
        return new Layout(element.width, null, null, put);
      }
      ElementType stored = element == ElementType.UINT16 ? ElementType.CHAR : element;
      String expected = stored.single.getSimpleName();
      ElementType.PutValue other =
          (to, at, value) -> {
            if (strict && value.getClass() != element.single) {
              throw MismatchException.otherClass(value, expected);
            }
            element.putWhole(to, at, value);
          };
      return new Layout(
          element.width, stored.single, stored.putValue, other, element.array, element.putArray);
    }

    private static Layout real(FloatingPointPrecision precision, boolean strict) {
      switch (precision) {
        case HALF:
          return new Layout(2, null, null, (to, at, value) -> to.setShort(at, half(real(value))));
        case SINGLE:
          return real(
              ElementType.FLOAT32, strict, (to, at, value) -> to.setFloat(at, single(real(value))));
        default:
          return real(
              ElementType.FLOAT64, strict, (to, at, value) -> to.setDouble(at, real(value)));
      }
    }

    private static Layout real(ElementType element, boolean strict, ElementType.PutValue convert) {
      return new Layout(
          element.width,
          element.single,
          element.putValue,
          strict ? reject(element.single) : convert,
          element.array,
          element.putArray);
    }

    private static Layout instant(TimeUnit unit, boolean strict) {
      // Ignite's dates have milliseconds, in objects of either class.
      boolean exactly = strict && unit != TimeUnit.MILLISECOND;
      ElementType.PutValue put =
          exactly
              ? (to, at, value) -> to.setLong(at, Temporals.exactly((Date) value, unit))
              : (to, at, value) -> to.setLong(at, Temporals.since1970((Date) value, unit));
      boolean fine = unit == TimeUnit.MICROSECOND || unit == TimeUnit.NANOSECOND;
      Class<?> exact = fine ? Timestamp.class : Date.class;
      return new Layout(8, exact, put, ofDates(put, exact));
    }

    private static Layout day(DateUnit unit) {
      ElementType.PutValue put =
          unit == DateUnit.DAY
              ? (to, at, value) -> to.setInt(at, Temporals.day((Date) value))
              : (to, at, value) -> to.setLong(at, Temporals.day((Date) value) * 86_400_000L);
      int width = unit == DateUnit.DAY ? 4 : 8;
      return new Layout(width, java.sql.Date.class, put, ofDates(put, java.sql.Date.class));
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

    private static Layout time(ArrowType.Time type, boolean strict) {
      TimeUnit unit = type.getUnit();
      ElementType.PutValue put;
      if (type.getBitWidth() == 64) {
        put = (to, at, value) -> to.setLong(at, Temporals.ofDay((Time) value, unit));
      } else if (strict) {
        put = (to, at, value) -> to.setInt(at, (int) Temporals.ofDayExactly((Time) value, unit));
      } else {
        put = (to, at, value) -> to.setInt(at, (int) Temporals.ofDay((Time) value, unit));
      }
      return new Layout(type.getBitWidth() / 8, Time.class, put, reject(Time.class));
    }

    private static Layout decimal(ArrowType.Decimal type) {
      int width = type.getBitWidth() / 8;
      int precision = type.getPrecision();
      int scale = type.getScale();
      ElementType.PutValue put =
          (to, at, value) ->
              DecimalUtility.writeBigDecimalToArrowBuf(
                  Decimals.of(value, precision, scale), to, Math.toIntExact(at / width), width);
      return new Layout(width, BigDecimal.class, put, put);
    }

    private static Layout bytes(int width) {
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
      return new Layout(width, byte[].class, put, other);
    }

    private static ElementType.PutValue reject(Class<?> expected) {
      return (ArrowBuf to, long at, Object value) -> {
        throw MismatchException.otherClass(value, expected.getSimpleName());
      };
    }

    private static float single(double number) throws MismatchException {
      float rounded = (float) number;
      requireFinite(rounded, number, Float.SIZE);
      return rounded;
    }

    private static short half(double number) throws MismatchException {
      short rounded = Float16.toFloat16((float) number);
      requireFinite(Float16.toFloat(rounded), number, Short.SIZE);
      return rounded;
    }

    private static void requireFinite(double rounded, Number number, int bits)
        throws MismatchException {
      if (Double.isInfinite(rounded) && !isInfinite(number)) {
        throw new MismatchException(
            "is "
                + number
                + ", which is too large for a floating-point number of "
                + bits
                + " bits");
      }
    }

    private static boolean isInfinite(Number number) {
      boolean isFloating = number instanceof Double || number instanceof Float;
      return isFloating && Double.isInfinite(number.doubleValue());
    }

    /** The double that is nearest to the value. */
    private static double real(Object value) throws MismatchException {
      if (value instanceof Number) {
        double number = ((Number) value).doubleValue();
        requireFinite(number, (Number) value, Double.SIZE);
        return number;
      }
      if (value instanceof Character) {
        return (Character) value;
      }
      if (value instanceof Boolean) {
        return (Boolean) value ? 1 : 0;
      }
      return LogicalType.ordinal(value, "a number");
    }
  }
}
