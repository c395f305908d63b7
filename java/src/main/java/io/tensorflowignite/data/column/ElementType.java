package io.tensorflowignite.data.column;

import com.google.common.primitives.Primitives;
import java.nio.ByteBuffer;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Date;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;

/**
 * The fixed-width types: for each its Arrow type, the classes that Ignite stores, and how a value
 * and an array are copied between the two. If several types have the same Arrow type or class, the
 * first one is used.
 */
public enum ElementType {
  INT8(
      new ArrowType.Int(8, true),
      Byte.class,
      byte[].class,
      (to, at, value) -> to.setByte(at, (Byte) value),
      (from, at) -> from.getByte(at),
      (to, array) -> to.put((byte[]) array),
      (from, length) -> filled(new byte[length], from::get)),
  INT16(
      new ArrowType.Int(16, true),
      Short.class,
      short[].class,
      (to, at, value) -> to.setShort(at, (Short) value),
      (from, at) -> from.getShort(at),
      (to, array) -> to.asShortBuffer().put((short[]) array),
      (from, length) -> filled(new short[length], from.asShortBuffer()::get)),
  INT32(
      new ArrowType.Int(32, true),
      Integer.class,
      int[].class,
      (to, at, value) -> to.setInt(at, (Integer) value),
      (from, at) -> from.getInt(at),
      (to, array) -> to.asIntBuffer().put((int[]) array),
      (from, length) -> filled(new int[length], from.asIntBuffer()::get)),
  INT64(
      new ArrowType.Int(64, true),
      Long.class,
      long[].class,
      (to, at, value) -> to.setLong(at, (Long) value),
      (from, at) -> from.getLong(at),
      (to, array) -> to.asLongBuffer().put((long[]) array),
      (from, length) -> filled(new long[length], from.asLongBuffer()::get)),
  FLOAT32(
      new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE),
      Float.class,
      float[].class,
      (to, at, value) -> to.setFloat(at, (Float) value),
      (from, at) -> from.getFloat(at),
      (to, array) -> to.asFloatBuffer().put((float[]) array),
      (from, length) -> filled(new float[length], from.asFloatBuffer()::get)),
  FLOAT64(
      new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE),
      Double.class,
      double[].class,
      (to, at, value) -> to.setDouble(at, (Double) value),
      (from, at) -> from.getDouble(at),
      (to, array) -> to.asDoubleBuffer().put((double[]) array),
      (from, length) -> filled(new double[length], from.asDoubleBuffer()::get)),
  /** A single value is stored in a wider class, so that SQL has its number; an array as bytes. */
  UINT8(
      new ArrowType.Int(8, false),
      Short.class,
      byte[].class,
      (to, at, value) -> to.setByte(at, (int) within((Short) value, 0, 0xFF)),
      (from, at) -> (short) (from.getByte(at) & 0xFF),
      (to, array) -> to.put((byte[]) array),
      (from, length) -> filled(new byte[length], from::get)),
  UINT16(
      new ArrowType.Int(16, false),
      Integer.class,
      char[].class,
      (to, at, value) -> to.setShort(at, (int) within((Integer) value, 0, 0xFFFF)),
      (from, at) -> from.getShort(at) & 0xFFFF,
      (to, array) -> to.asCharBuffer().put((char[]) array),
      (from, length) -> filled(new char[length], from.asCharBuffer()::get)),
  CHAR(
      new ArrowType.Int(16, false),
      Character.class,
      char[].class,
      (to, at, value) -> to.setChar(at, (Character) value),
      (from, at) -> from.getChar(at),
      (to, array) -> to.asCharBuffer().put((char[]) array),
      (from, length) -> filled(new char[length], from.asCharBuffer()::get)),
  UINT32(
      new ArrowType.Int(32, false),
      Long.class,
      null,
      (to, at, value) -> to.setInt(at, (int) within((Long) value, 0, 0xFFFFFFFFL)),
      (from, at) -> from.getInt(at) & 0xFFFFFFFFL,
      null,
      null);

  public interface PutValue {
    void put(ArrowBuf to, long at, Object value) throws MismatchException;
  }

  public interface GetValue {
    Object get(ArrowBuf from, long at);
  }

  /** Puts a whole array at the buffer's position. */
  public interface PutArray {
    void put(ByteBuffer to, Object array);
  }

  /** Gets an array of {@code length} elements from the buffer's position on. */
  public interface GetArray {
    Object get(ByteBuffer from, int length);
  }

  /** The stored type's name in Ignite's binary metadata. */
  public final String binaryName;

  public final ArrowType arrow;

  /** Bytes of one value. */
  public final int width;

  public final Class<?> single;

  /** Null: arrays of this type are not supported. */
  public final Class<?> array;

  public final PutValue putValue;
  public final GetValue getValue;
  public final PutArray putArray;
  public final GetArray getArray;

  ElementType(
      ArrowType arrow,
      Class<?> single,
      Class<?> array,
      PutValue putValue,
      GetValue getValue,
      PutArray putArray,
      GetArray getArray) {
    binaryName = Primitives.unwrap(single).getName();
    this.arrow = arrow;
    width =
        arrow instanceof ArrowType.Int
            ? ((ArrowType.Int) arrow).getBitWidth() / Byte.SIZE
            : single == Float.class ? Float.BYTES : Double.BYTES;
    this.single = single;
    this.array = array;
    this.putValue = putValue;
    this.getValue = getValue;
    this.putArray = putArray;
    this.getArray = getArray;
  }

  public static Optional<ElementType> of(ArrowType type) {
    for (ElementType element : values()) {
      if (element.arrow.equals(type)) {
        return Optional.of(element);
      }
    }
    return Optional.empty();
  }

  /** The smallest number; only of integers. */
  public long min() {
    return ((ArrowType.Int) arrow).getIsSigned() ? -1L << (8 * width - 1) : 0;
  }

  /** The largest number; only of integers. */
  public long max() {
    return -1L >>> (64 - 8 * width + (((ArrowType.Int) arrow).getIsSigned() ? 1 : 0));
  }

  private static long within(long number, long min, long max) throws MismatchException {
    if (number < min || number > max) {
      throw new MismatchException("is " + number + ", which is not within " + min + " to " + max);
    }
    return number;
  }

  /** Puts any value as an integer of this type, without loss. */
  void putWhole(ArrowBuf to, long at, Object value) throws MismatchException {
    long number = within(whole(value), min(), max());
    switch (width) {
      case 1:
        to.setByte(at, (byte) number);
        break;
      case 2:
        to.setShort(at, (short) number);
        break;
      case 4:
        to.setInt(at, (int) number);
        break;
      default:
        to.setLong(at, number);
    }
  }

  private long whole(Object value) throws MismatchException {
    if (value instanceof Long
        || value instanceof Integer
        || value instanceof Short
        || value instanceof Byte) {
      return ((Number) value).longValue();
    }
    if (value instanceof Character) {
      return (Character) value;
    }
    if (value instanceof Boolean) {
      return (Boolean) value ? 1 : 0;
    }
    if (value instanceof Timestamp) {
      return Temporals.since1970((Timestamp) value, TimeUnit.NANOSECOND);
    }
    if (value instanceof Time) {
      return Temporals.ofDay((Time) value, TimeUnit.MILLISECOND);
    }
    if (value instanceof java.sql.Date) {
      return Temporals.day((Date) value);
    }
    return value instanceof Date
        ? ((Date) value).getTime()
        : LogicalType.ordinal(value, single.getSimpleName());
  }

  private static <A> A filled(A array, Consumer<A> get) {
    get.accept(array);
    return array;
  }
}
