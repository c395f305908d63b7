package io.tensorflowignite.serving.json;

import com.fasterxml.jackson.core.JsonToken;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.TensorProto;
import io.tensorflowignite.serving.v1.TensorShapeProto;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** Collects JSON values, nested as the axes of a tensor, as bytes. */
final class TensorBuilder {
  private static final int FIRST_BYTES = 256;
  private static final long UNKNOWN = -1;
  private static final long MAX_UINT32 = 0xFFFF_FFFFL;

  private final DataType type;
  private ByteBuffer elements = ByteBuffer.allocate(FIRST_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final List<ByteString> strings = new ArrayList<>();
  private int count;

  /** Of the value that is being read, by level; its length is the rank, or -1 before a leaf. */
  private final List<Long> sizes = new ArrayList<>();

  private int rank = -1;

  /** Of the first value. */
  private List<Long> first;

  private int firstCount;
  private int values;

  TensorBuilder(DataType type) {
    this.type = type;
  }

  /** Reads one value. It must have the same shape as the value before. */
  void addInstance(JsonReader json) {
    int before = count;
    addValue(json);
    int size = count - before;
    List<Long> shape = new ArrayList<>(sizes);
    if (first == null) {
      first = shape;
      firstCount = size;
    } else if (size != firstCount) {
      throw ServingErrors.invalid("Expecting tensor size: " + firstCount + " but got: " + size);
    } else if (!shape.equals(first)) {
      throw ServingErrors.invalid("Expecting shape " + text(first) + " but got: " + text(shape));
    }
    values++;
  }

  /** Reads one value of any shape. */
  void addValue(JsonReader json) {
    sizes.clear();
    rank = -1;
    read(json, 0);
  }

  /** The values of {@link #addInstance}, with an axis for them in front. */
  TensorProto stacked() {
    List<Long> shape = new ArrayList<>();
    shape.add((long) values);
    shape.addAll(first);
    return build(shape);
  }

  /** The value of {@link #addValue}. */
  TensorProto single() {
    return build(sizes);
  }

  private TensorProto build(List<Long> shape) {
    TensorShapeProto.Builder dims = TensorShapeProto.newBuilder();
    shape.forEach(size -> dims.addDimBuilder().setSize(size));
    TensorProto.Builder tensor = TensorProto.newBuilder().setDtype(type).setTensorShape(dims);
    if (type == DataType.DT_STRING) {
      return tensor.addAllStringVal(strings).build();
    }
    // Nothing is written into the array any more.
    return tensor
        .setTensorContent(UnsafeByteOperations.unsafeWrap(elements.array(), 0, elements.position()))
        .build();
  }

  private void read(JsonReader json, int level) {
    if (json.token() != JsonToken.START_ARRAY) {
      if (rank < 0 && level == sizes.size()) {
        rank = level;
      }
      if (level != rank) {
        throw ServingErrors.invalid(
            String.format(
                "JSON Value: %s found at incorrect level: %d in the JSON DOM. Expected at level:"
                    + " %d",
                json.debug(), level + 1, Math.max(rank, sizes.size())));
      }
      addElement(json);
      count++;
      return;
    }
    if (rank >= 0 && level >= rank) {
      throw ServingErrors.invalid(
          "Encountered list at unexpected level: " + level + " expected < " + rank);
    }
    if (level == sizes.size()) {
      sizes.add(UNKNOWN);
    }
    long size = 0;
    while (json.next() != JsonToken.END_ARRAY) {
      read(json, level + 1);
      size++;
    }
    long expected = sizes.get(level);
    if (expected == UNKNOWN) {
      sizes.set(level, size);
    } else if (expected != size) {
      throw ServingErrors.invalid(
          String.format(
              "Encountered list at unexpected size: %d at level: %d expected size: %d",
              size, level, expected));
    }
    if (size == 0 && rank < 0) {
      // An empty list ends the shape.
      rank = level + 1;
    }
  }

  private void addElement(JsonReader json) {
    switch (type) {
      case DT_FLOAT:
        float single = json.isNumber() ? json.call(json.parser()::getFloatValue) : Float.NaN;
        require(Float.isFinite(single), json);
        room().putFloat(single);
        return;
      case DT_DOUBLE:
        double wide = json.isNumber() ? json.call(json.parser()::getDoubleValue) : Double.NaN;
        require(Double.isFinite(wide), json);
        room().putDouble(wide);
        return;
      case DT_INT8:
        room().put((byte) integer(json, Byte.MIN_VALUE, Byte.MAX_VALUE));
        return;
      case DT_UINT8:
        room().put((byte) integer(json, 0, 0xFF));
        return;
      case DT_INT16:
        room().putShort((short) integer(json, Short.MIN_VALUE, Short.MAX_VALUE));
        return;
      case DT_UINT16:
        room().putShort((short) integer(json, 0, 0xFFFF));
        return;
      case DT_INT32:
        room().putInt((int) integer(json, Integer.MIN_VALUE, Integer.MAX_VALUE));
        return;
      case DT_UINT32:
        room().putInt((int) integer(json, 0, MAX_UINT32));
        return;
      case DT_INT64:
        room().putLong(integer(json, Long.MIN_VALUE, Long.MAX_VALUE));
        return;
      case DT_UINT64:
        room().putLong(unsigned(json));
        return;
      case DT_BOOL:
        require(json.token().isBoolean(), json);
        room().put((byte) (json.token() == JsonToken.VALUE_TRUE ? 1 : 0));
        return;
      case DT_STRING:
        strings.add(string(json));
        return;
      default:
        throw ServingErrors.unimplemented(
            "Conversion of JSON Value: " + json.debug() + " to type: " + DataTypes.name(type));
    }
  }

  private long integer(JsonReader json, long least, long most) {
    require(json.token() == JsonToken.VALUE_NUMBER_INT, json);
    long value;
    try {
      value = json.call(json.parser()::getLongValue);
    } catch (StatusRuntimeException e) {
      throw typeError(json);
    }
    require(value >= least && value <= most, json);
    return value;
  }

  private long unsigned(JsonReader json) {
    require(json.token() == JsonToken.VALUE_NUMBER_INT, json);
    try {
      return Long.parseUnsignedLong(json.text());
    } catch (NumberFormatException e) {
      throw typeError(json);
    }
  }

  private ByteString string(JsonReader json) {
    if (json.token() == JsonToken.VALUE_STRING) {
      return ByteString.copyFromUtf8(json.text());
    }
    if (json.token() == JsonToken.START_OBJECT) {
      json.next();
    } else {
      require(json.token() == JsonToken.FIELD_NAME, json);
    }
    return base64(json);
  }

  /** The bytes of an object {@code {"b64": "..."}}; the reader is at its field. */
  static ByteString base64(JsonReader json) {
    String text = null;
    if (json.token() == JsonToken.FIELD_NAME && json.name().equals("b64")) {
      text = json.next() == JsonToken.VALUE_STRING ? json.text() : null;
    }
    if (text == null || json.next() != JsonToken.END_OBJECT) {
      throw ServingErrors.invalid("JSON Value: {...} not formatted correctly for base64 data");
    }
    try {
      return ByteString.copyFrom(Base64.getDecoder().decode(text));
    } catch (IllegalArgumentException e) {
      throw ServingErrors.invalid("Unable to base64 decode");
    }
  }

  private void require(boolean fits, JsonReader json) {
    if (!fits) {
      throw typeError(json);
    }
  }

  private StatusRuntimeException typeError(JsonReader json) {
    return ServingErrors.invalid(
        String.format(
            "JSON Value: %s Type: %s is not of expected type: %s",
            json.debug(), json.type(), DataTypes.name(type)));
  }

  private ByteBuffer room() {
    if (elements.remaining() < Long.BYTES) {
      ByteBuffer larger =
          ByteBuffer.wrap(Arrays.copyOf(elements.array(), 2 * elements.capacity()))
              .order(ByteOrder.LITTLE_ENDIAN);
      larger.position(elements.position());
      elements = larger;
    }
    return elements;
  }

  private static String text(List<Long> shape) {
    return shape.toString().replace(", ", ",");
  }
}
