package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.predict.decide.Tensors.STRING;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.decide.Tensors;
import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Tensors as plain values of Java, which every client of Ignite can send, and back. */
public final class PlainTensors {
  private final TensorSpec spec;
  private final List<Integer> shape = new ArrayList<>();
  private final List<ByteString> strings = new ArrayList<>();
  private ByteBuffer data = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);

  private PlainTensors(TensorSpec spec) {
    this.spec = spec;
  }

  /**
   * The tensor of a column.
   *
   * @param column an array or a collection with a value for each row, which may be arrays again
   */
  static Tensor of(TensorSpec spec, Object column) {
    PlainTensors tensor = new PlainTensors(spec);
    if (!tensor.isList(column)) {
      throw tensor.invalid("is " + type(column) + " and not an array with a value for each row");
    }
    tensor.add(column, 0);
    return tensor.build();
  }

  /** The tensor of a column that has a value for each row. */
  static Tensor ofRows(TensorSpec spec, Object... values) {
    Tensor tensor = of(spec, values);
    if (tensor.getShape(0) != values.length) {
      throw invalidRequest(
          "The input %s has the numbers of %d rows, and the request has %d. Each value is one row."
              + " Give each row as many numbers as the model takes.",
          Tensors.text(spec), tensor.getShape(0), values.length);
    }
    return tensor;
  }

  /** The plain value of an output: see {@code TensorFlowModels}. */
  static Object plain(Tensor tensor) {
    int rows = (int) tensor.getShape(0);
    if (tensor.getShapeCount() == 1) {
      return elements(tensor, 0, rows);
    }
    long size = 1;
    for (long axis : tensor.getShapeList().subList(1, tensor.getShapeCount())) {
      size *= axis;
    }
    Object[] all = new Object[rows];
    for (int row = 0; row < rows; row++) {
      all[row] = elements(tensor, (int) (row * size), (int) size);
    }
    return all;
  }

  /** All elements of a tensor of one row, as an array of the plain type. */
  public static Object row(Tensor tensor) {
    long size = 1;
    for (long axis : tensor.getShapeList()) {
      size *= axis;
    }
    return elements(tensor, 0, (int) size);
  }

  private boolean isList(Object value) {
    boolean isArray = value != null && value.getClass().isArray();
    return value instanceof Collection || (isArray && !(isString() && value instanceof byte[]));
  }

  private boolean isString() {
    return spec.getDtype().equals(STRING);
  }

  private void add(Object value, int axis) {
    if (!isList(value)) {
      if (axis != shape.size()) {
        throw invalid("has rows of different shapes");
      }
      addElement(value);
      return;
    }
    Object list = value instanceof Collection ? ((Collection<?>) value).toArray() : value;
    int size = Array.getLength(list);
    if (axis == shape.size() && isEmpty()) {
      shape.add(size);
    } else if (axis >= shape.size() || shape.get(axis) != size) {
      throw invalid("has rows of different shapes");
    }
    if (list instanceof float[] && spec.getDtype().equals("float32")) {
      requireLast(axis);
      for (float element : (float[]) list) {
        room(Float.BYTES).putFloat(element);
      }
      return;
    }
    if (list instanceof byte[] && spec.getDtype().equals("uint8")) {
      requireLast(axis);
      room(size).put((byte[]) list);
      return;
    }
    for (int i = 0; i < size; i++) {
      add(Array.get(list, i), axis + 1);
    }
  }

  private void requireLast(int axis) {
    if (axis + 1 != shape.size()) {
      throw invalid("has rows of different shapes");
    }
  }

  private boolean isEmpty() {
    return strings.isEmpty() && data.position() == 0;
  }

  private void addElement(Object value) {
    switch (spec.getDtype()) {
      case STRING:
        strings.add(string(value));
        break;
      case "bool":
        room(1).put((byte) (bool(value) ? 1 : 0));
        break;
      case "float32":
        room(Float.BYTES).putFloat(number(value).floatValue());
        break;
      case "float64":
        room(Double.BYTES).putDouble(number(value).doubleValue());
        break;
      case "int8":
        room(1).put((byte) integer(value, Byte.MIN_VALUE, Byte.MAX_VALUE));
        break;
      case "uint8":
        room(1).put((byte) integer(value, 0, (1 << Byte.SIZE) - 1));
        break;
      case "int16":
        room(Short.BYTES).putShort((short) integer(value, Short.MIN_VALUE, Short.MAX_VALUE));
        break;
      case "uint16":
        room(Short.BYTES).putShort((short) integer(value, 0, (1 << Short.SIZE) - 1));
        break;
      case "int32":
        room(Integer.BYTES).putInt((int) integer(value, Integer.MIN_VALUE, Integer.MAX_VALUE));
        break;
      case "uint32":
        room(Integer.BYTES).putInt((int) integer(value, 0, (1L << Integer.SIZE) - 1));
        break;
      case "int64":
        room(Long.BYTES).putLong(integer(value, Long.MIN_VALUE, Long.MAX_VALUE));
        break;
      case "uint64":
        room(Long.BYTES).putLong(integer(value, 0, Long.MAX_VALUE));
        break;
      default:
        throw invalid("has a type for which there is no plain value");
    }
  }

  private ByteBuffer room(int bytes) {
    if (data.remaining() < bytes) {
      data.flip();
      data =
          ByteBuffer.allocate(Math.max(2 * data.capacity(), data.limit() + bytes))
              .order(ByteOrder.LITTLE_ENDIAN)
              .put(data);
    }
    return data;
  }

  private ByteString string(Object value) {
    if (value instanceof String) {
      return ByteString.copyFromUtf8((String) value);
    }
    if (value instanceof byte[]) {
      return ByteString.copyFrom((byte[]) value);
    }
    throw invalid("has a value that is " + type(value) + " and not a text or bytes");
  }

  private boolean bool(Object value) {
    if (value instanceof Boolean) {
      return (Boolean) value;
    }
    throw invalid("has a value that is " + type(value) + " and not a boolean");
  }

  private Number number(Object value) {
    if (value instanceof Number) {
      return (Number) value;
    }
    throw invalid("has a value that is " + type(value) + " and not a number");
  }

  private long integer(Object value, long least, long greatest) {
    boolean isInteger =
        value instanceof Long
            || value instanceof Integer
            || value instanceof Short
            || value instanceof Byte;
    if (!isInteger) {
      throw invalid("has a value that is " + type(value) + " and not an integer");
    }
    long integer = ((Number) value).longValue();
    if (integer < least || integer > greatest) {
      throw invalid("has the value " + integer + ", which its type does not have");
    }
    return integer;
  }

  /**
   * A row has the shape of the signature, if it is known. A flat column has all rows one after the
   * other. In any other column each value of the first axis is a row, so that no number moves to
   * another row.
   */
  private Tensor build() {
    Tensor.Builder tensor = Tensor.newBuilder().setName(spec.getName()).setDtype(spec.getDtype());
    data.flip();
    tensor.setData(ByteString.copyFrom(data)).addAllStrings(strings);
    long elements = 1;
    for (int size : shape) {
      tensor.addShape(size);
      elements *= size;
    }
    if (!spec.getAnyRank() && shape.size() != spec.getShapeCount() && spec.getShapeCount() > 0) {
      List<Long> row = spec.getShapeList().subList(1, spec.getShapeCount());
      long size = row.stream().reduce(1L, (one, other) -> one * other);
      boolean isKnown = size > 0 && row.stream().allMatch(axis -> axis > 0);
      boolean isFlat = shape.size() == 1;
      if (isKnown && !isFlat && elements != shape.get(0) * size) {
        throw otherRows(size);
      }
      if (isKnown && elements % size == 0) {
        tensor.clearShape().addShape(elements / size).addAllShape(row);
      }
    }
    return tensor.build();
  }

  private static Object elements(Tensor tensor, int from, int count) {
    if (tensor.getDtype().equals(STRING)) {
      return tensor.getStringsList().subList(from, from + count).stream()
          .map(ByteString::toStringUtf8)
          .toArray(String[]::new);
    }
    int bytes = Tensors.elementBytes(tensor.getDtype()).orElseThrow(() -> noPlainValue(tensor));
    ByteBuffer in =
        tensor
            .getData()
            .substring(from * bytes, (from + count) * bytes)
            .asReadOnlyByteBuffer()
            .order(ByteOrder.LITTLE_ENDIAN);
    switch (tensor.getDtype()) {
      case "bool":
        boolean[] flags = new boolean[count];
        for (int i = 0; i < count; i++) {
          flags[i] = in.get() != 0;
        }
        return flags;
      case "float32":
        float[] floats = new float[count];
        in.asFloatBuffer().get(floats);
        return floats;
      case "float64":
        double[] doubles = new double[count];
        in.asDoubleBuffer().get(doubles);
        return doubles;
      case "int8":
        byte[] octets = new byte[count];
        in.get(octets);
        return octets;
      case "uint8":
        int[] unsigned = new int[count];
        for (int i = 0; i < count; i++) {
          unsigned[i] = Byte.toUnsignedInt(in.get());
        }
        return unsigned;
      case "int16":
        short[] shorts = new short[count];
        in.asShortBuffer().get(shorts);
        return shorts;
      case "uint16":
        int[] chars = new int[count];
        for (int i = 0; i < count; i++) {
          chars[i] = Short.toUnsignedInt(in.getShort());
        }
        return chars;
      case "int32":
        int[] ints = new int[count];
        in.asIntBuffer().get(ints);
        return ints;
      case "uint32":
        long[] wide = new long[count];
        for (int i = 0; i < count; i++) {
          wide[i] = Integer.toUnsignedLong(in.getInt());
        }
        return wide;
      case "int64":
      case "uint64":
        long[] longs = new long[count];
        in.asLongBuffer().get(longs);
        return longs;
      default:
        throw noPlainValue(tensor);
    }
  }

  private static TensorFlowIgniteException noPlainValue(Tensor tensor) {
    return invalidRequest(
        "The output %s has the type %s, for which there is no plain value. Plain values are"
            + " integers, float32, float64, booleans and texts. Call Predict over gRPC.",
        tensor.getName(), tensor.getDtype());
  }

  private TensorFlowIgniteException invalid(String reason) {
    return invalidRequest(
        "The input %s %s. The model takes %s; the first axis is the rows. Give an array with the"
            + " values of all rows.",
        spec.getName(), reason, Tensors.text(spec));
  }

  private TensorFlowIgniteException otherRows(long size) {
    return invalidRequest(
        "The input %s has the shape %s, so %d rows of the shape %s. The model takes %s; the first"
            + " axis is the rows, and a row has %d elements. Give each row that number of elements,"
            + " or all rows in one flat array.",
        spec.getName(),
        shape,
        shape.get(0),
        shape.subList(1, shape.size()),
        Tensors.text(spec),
        size);
  }

  private static String type(Object value) {
    return value == null ? "null" : "a " + value.getClass().getSimpleName();
  }
}
