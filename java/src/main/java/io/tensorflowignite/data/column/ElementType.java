package io.tensorflowignite.data.column;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;

/**
 * The fixed-width types: for each its Arrow type, the classes that Ignite stores of it, and how one
 * value and how a whole array crosses between the two. For an Arrow type, and for a class, the
 * first that fits counts.
 */
public enum ElementType {
  INT8(
      "byte",
      new ArrowType.Int(8, true),
      1,
      Byte.class,
      byte[].class,
      (to, at, value) -> to.setByte(at, (Byte) value),
      (from, at) -> from.getByte(at),
      (to, array) -> to.put((byte[]) array),
      ElementType::bytes),
  INT16(
      "short",
      new ArrowType.Int(16, true),
      2,
      Short.class,
      short[].class,
      (to, at, value) -> to.setShort(at, (Short) value),
      (from, at) -> from.getShort(at),
      (to, array) -> to.asShortBuffer().put((short[]) array),
      (from, length) -> {
        short[] array = new short[length];
        from.asShortBuffer().get(array);
        return array;
      }),
  INT32(
      "int",
      new ArrowType.Int(32, true),
      4,
      Integer.class,
      int[].class,
      (to, at, value) -> to.setInt(at, (Integer) value),
      (from, at) -> from.getInt(at),
      (to, array) -> to.asIntBuffer().put((int[]) array),
      (from, length) -> {
        int[] array = new int[length];
        from.asIntBuffer().get(array);
        return array;
      }),
  INT64(
      "long",
      new ArrowType.Int(64, true),
      8,
      Long.class,
      long[].class,
      (to, at, value) -> to.setLong(at, (Long) value),
      (from, at) -> from.getLong(at),
      (to, array) -> to.asLongBuffer().put((long[]) array),
      (from, length) -> {
        long[] array = new long[length];
        from.asLongBuffer().get(array);
        return array;
      }),
  FLOAT32(
      "float",
      new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE),
      4,
      Float.class,
      float[].class,
      (to, at, value) -> to.setFloat(at, (Float) value),
      (from, at) -> from.getFloat(at),
      (to, array) -> to.asFloatBuffer().put((float[]) array),
      (from, length) -> {
        float[] array = new float[length];
        from.asFloatBuffer().get(array);
        return array;
      }),
  FLOAT64(
      "double",
      new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE),
      8,
      Double.class,
      double[].class,
      (to, at, value) -> to.setDouble(at, (Double) value),
      (from, at) -> from.getDouble(at),
      (to, array) -> to.asDoubleBuffer().put((double[]) array),
      (from, length) -> {
        double[] array = new double[length];
        from.asDoubleBuffer().get(array);
        return array;
      }),
  /** Wider as a single value, so that SQL sees its number; byte by byte in arrays. */
  UINT8(
      "short",
      new ArrowType.Int(8, false),
      1,
      Short.class,
      byte[].class,
      (to, at, value) -> to.setByte(at, (int) Numbers.within((Short) value, 0, 0xFF)),
      (from, at) -> (short) (from.getByte(at) & 0xFF),
      (to, array) -> to.put((byte[]) array),
      ElementType::bytes),
  UINT16(
      "int",
      new ArrowType.Int(16, false),
      2,
      Integer.class,
      char[].class,
      (to, at, value) -> to.setShort(at, (int) Numbers.within((Integer) value, 0, 0xFFFF)),
      (from, at) -> from.getShort(at) & 0xFFFF,
      (to, array) -> to.asCharBuffer().put((char[]) array),
      ElementType::chars),
  CHAR(
      "char",
      new ArrowType.Int(16, false),
      2,
      Character.class,
      char[].class,
      (to, at, value) -> to.setChar(at, (Character) value),
      (from, at) -> from.getChar(at),
      (to, array) -> to.asCharBuffer().put((char[]) array),
      ElementType::chars),
  UINT32(
      "long",
      new ArrowType.Int(32, false),
      4,
      Long.class,
      null,
      (to, at, value) -> to.setInt(at, (int) Numbers.within((Long) value, 0, 0xFFFFFFFFL)),
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

  /** Gets an array of so many elements from the buffer's position on. */
  public interface GetArray {
    Object get(ByteBuffer from, int length);
  }

  /** The name by which Ignite's binary metadata knows the stored type. */
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
      String binaryName,
      ArrowType arrow,
      int width,
      Class<?> single,
      Class<?> array,
      PutValue putValue,
      GetValue getValue,
      PutArray putArray,
      GetArray getArray) {
    this.binaryName = binaryName;
    this.arrow = arrow;
    this.width = width;
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

  public boolean isFloat() {
    return this == FLOAT32 || this == FLOAT64;
  }

  /** The smallest number; of the integers. */
  public long min() {
    return ((ArrowType.Int) arrow).getIsSigned() ? -1L << (8 * width - 1) : 0;
  }

  /** The largest number; of the integers. */
  public long max() {
    return -1L >>> (64 - 8 * width + (((ArrowType.Int) arrow).getIsSigned() ? 1 : 0));
  }

  /** Puts a whole number that is within this type's range. */
  public void putWhole(ArrowBuf to, long at, long number) {
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

  private static Object bytes(ByteBuffer from, int length) {
    byte[] array = new byte[length];
    from.get(array);
    return array;
  }

  private static Object chars(ByteBuffer from, int length) {
    char[] array = new char[length];
    from.asCharBuffer().get(array);
    return array;
  }
}
