package io.tensorflowignite.serving.json;

import io.tensorflowignite.serving.v1.DataType;
import java.util.Locale;

/** Types of elements: their names in TensorFlow, and their sizes. */
public final class DataTypes {
  private DataTypes() {}

  /** TensorFlow's name, such as {@code float} and {@code int64}, as its error texts have it. */
  public static String name(DataType type) {
    return type.name().substring("DT_".length()).toLowerCase(Locale.ROOT);
  }

  /** The bytes of one element; 0: strings. */
  public static int bytes(DataType type) {
    switch (type) {
      case DT_BOOL:
      case DT_INT8:
      case DT_UINT8:
        return 1;
      case DT_INT16:
      case DT_UINT16:
      case DT_HALF:
      case DT_BFLOAT16:
        return 2;
      case DT_FLOAT:
      case DT_INT32:
      case DT_UINT32:
        return 4;
      case DT_DOUBLE:
      case DT_INT64:
      case DT_UINT64:
        return 8;
      default:
        return 0;
    }
  }
}
