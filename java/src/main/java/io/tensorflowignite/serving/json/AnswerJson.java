package io.tensorflowignite.serving.json;

import com.google.gson.JsonPrimitive;
import com.google.protobuf.ByteString;
import io.tensorflowignite.serving.v1.Class;
import io.tensorflowignite.serving.v1.ClassificationResult;
import io.tensorflowignite.serving.v1.Classifications;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.Regression;
import io.tensorflowignite.serving.v1.RegressionResult;
import io.tensorflowignite.serving.v1.TensorProto;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;

/** Answers as JSON. */
public final class AnswerJson {
  private static final String BYTES_SUFFIX = "_bytes";

  private AnswerJson() {}

  /** {@code {"error": "..."}}. */
  public static String error(String text) {
    return "{\"error\":" + quoted(text) + "}";
  }

  /**
   * {@code {"predictions": [...]}}, one element for each row, or {@code {"outputs": ...}}, one
   * value for each output. One output stands without its name.
   *
   * @param outputs the outputs, with their elements as bytes
   */
  public static String outputs(Map<String, TensorProto> outputs, boolean isByRow) {
    if (outputs.isEmpty()) {
      throw ServingErrors.invalid("Cannot convert empty tensor map to JSON");
    }
    Map<String, Elements> elements = new TreeMap<>();
    outputs.forEach((name, tensor) -> elements.put(name, new Elements(name, tensor)));
    StringBuilder json = new StringBuilder();
    if (isByRow) {
      rows(elements, json.append("{\"predictions\":["));
      return json.append("]}").toString();
    }
    json.append("{\"outputs\":");
    object(elements, 0, json);
    return json.append('}').toString();
  }

  private static void rows(Map<String, Elements> elements, StringBuilder json) {
    long rows = -1;
    for (Map.Entry<String, Elements> output : elements.entrySet()) {
      Elements values = output.getValue();
      if (values.rank() == 0) {
        throw ServingErrors.invalid(
            "Tensor name: " + output.getKey() + " has no shape information ");
      }
      if (rows >= 0 && values.size(0) != rows) {
        throw ServingErrors.invalid(
            String.format(
                "Tensor name: %s has inconsistent batch size: %d expecting: %d",
                output.getKey(), values.size(0), rows));
      }
      rows = values.size(0);
    }
    for (long row = 0; row < rows; row++) {
      if (row > 0) {
        json.append(',');
      }
      object(elements, 1, json);
    }
  }

  /** The next values from an axis on: the values of one output, or an object of all outputs. */
  private static void object(Map<String, Elements> elements, int axis, StringBuilder json) {
    if (elements.size() == 1) {
      elements.values().iterator().next().write(axis, json);
      return;
    }
    char separator = '{';
    for (Map.Entry<String, Elements> output : elements.entrySet()) {
      json.append(separator).append(quoted(output.getKey())).append(':');
      output.getValue().write(axis, json);
      separator = ',';
    }
    json.append('}');
  }

  /** {@code {"results": [[["label", score], ...], ...]}}. */
  public static String classifications(ClassificationResult result) {
    if (result.getClassificationsCount() == 0) {
      throw ServingErrors.invalid("Cannot convert empty ClassificationResults to JSON");
    }
    StringBuilder json = new StringBuilder("{\"results\":");
    char row = '[';
    for (Classifications classes : result.getClassificationsList()) {
      json.append(row).append('[');
      row = ',';
      String separator = "";
      for (Class each : classes.getClassesList()) {
        json.append(separator).append('[').append(quoted(each.getLabel())).append(',');
        json.append(Float.toString(each.getScore())).append(']');
        separator = ",";
      }
      json.append(']');
    }
    return json.append("]}").toString();
  }

  /** {@code {"results": [value, ...]}}. */
  public static String regressions(RegressionResult result) {
    if (result.getRegressionsCount() == 0) {
      throw ServingErrors.invalid("Cannot convert empty RegressionResults to JSON");
    }
    StringBuilder json = new StringBuilder("{\"results\":");
    char separator = '[';
    for (Regression each : result.getRegressionsList()) {
      json.append(separator).append(Float.toString(each.getValue()));
      separator = ',';
    }
    return json.append("]}").toString();
  }

  private static String quoted(String text) {
    return new JsonPrimitive(text).toString();
  }

  /** The elements of one output, in order. */
  private static final class Elements {
    private final TensorProto tensor;
    private final boolean asBytes;
    private final ByteBuffer data;
    private int next;

    Elements(String name, TensorProto tensor) {
      this.tensor = tensor;
      this.asBytes = name.endsWith(BYTES_SUFFIX);
      this.data = tensor.getTensorContent().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
      int size = DataTypes.bytes(tensor.getDtype());
      if (size == 0 && tensor.getDtype() != DataType.DT_STRING) {
        throw unwritable();
      }
    }

    int rank() {
      return tensor.getTensorShape().getDimCount();
    }

    long size(int axis) {
      return tensor.getTensorShape().getDim(axis).getSize();
    }

    void write(int axis, StringBuilder json) {
      if (axis >= rank()) {
        element(json);
        return;
      }
      json.append('[');
      for (long index = 0; index < size(axis); index++) {
        if (index > 0) {
          json.append(',');
        }
        write(axis + 1, json);
      }
      json.append(']');
    }

    private void element(StringBuilder json) {
      switch (tensor.getDtype()) {
        case DT_FLOAT:
          json.append(Float.toString(data.getFloat()));
          return;
        case DT_HALF:
          json.append(half(data.getShort()));
          return;
        case DT_BFLOAT16:
          json.append(Float.intBitsToFloat(data.getShort() << Short.SIZE));
          return;
        case DT_DOUBLE:
          json.append(Double.toString(data.getDouble()));
          return;
        case DT_INT8:
          json.append(data.get());
          return;
        case DT_UINT8:
          json.append(Byte.toUnsignedInt(data.get()));
          return;
        case DT_INT16:
          json.append(data.getShort());
          return;
        case DT_UINT16:
          json.append(Short.toUnsignedInt(data.getShort()));
          return;
        case DT_INT32:
          json.append(data.getInt());
          return;
        case DT_UINT32:
          json.append(Integer.toUnsignedLong(data.getInt()));
          return;
        case DT_INT64:
          json.append(data.getLong());
          return;
        case DT_UINT64:
          json.append(Long.toUnsignedString(data.getLong()));
          return;
        case DT_BOOL:
          json.append(data.get() != 0);
          return;
        case DT_STRING:
          string(tensor.getStringVal(next++), json);
          return;
        default:
          throw unwritable();
      }
    }

    /** The number of 5 bits of exponent and 10 bits of fraction. */
    private static float half(short bits) {
      int exponent = bits >> 10 & 0x1F;
      int fraction = bits & 0x3FF;
      float size;
      if (exponent == 0x1F) {
        size = fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
      } else {
        size = Math.scalb(exponent == 0 ? fraction : fraction + 1024f, Math.max(exponent, 1) - 25);
      }
      return bits < 0 ? -size : size;
    }

    private void string(ByteString value, StringBuilder json) {
      if (asBytes) {
        String text = Base64.getEncoder().encodeToString(value.toByteArray());
        json.append("{\"b64\":\"").append(text).append("\"}");
      } else if (value.isValidUtf8()) {
        json.append(quoted(value.toStringUtf8()));
      } else {
        throw ServingErrors.invalid(
            "Failed to write JSON value for tensor type: string. Bytes that are no UTF-8 are"
                + " returned of outputs whose names end in "
                + BYTES_SUFFIX);
      }
    }

    private RuntimeException unwritable() {
      return ServingErrors.invalid(
          "Failed to write JSON value for tensor type: " + DataTypes.name(tensor.getDtype()));
    }
  }
}
