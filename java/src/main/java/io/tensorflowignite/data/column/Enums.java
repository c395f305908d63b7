package io.tensorflowignite.data.column;

import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryType;

/** Values of enums, which Ignite keeps as binary objects of a special kind. */
public final class Enums {
  private Enums() {}

  public static boolean isValue(Object value) {
    if (!(value instanceof BinaryObject)) {
      return false;
    }
    try {
      return ((BinaryObject) value).type().isEnum();
    } catch (BinaryObjectException unknown) {
      return false;
    }
  }

  /** The name of a value; its ordinal in digits when the cluster does not know the names. */
  public static String name(BinaryObject value) {
    try {
      return value.enumName();
    } catch (BinaryObjectException unknown) {
      return Integer.toString(value.enumOrdinal());
    }
  }

  /** By ordinal; empty when the cluster does not know them, or they leave gaps. */
  public static List<String> names(BinaryType type) {
    List<String> names = new ArrayList<>();
    if (type == null || !type.isEnum()) {
      return names;
    }
    List<BinaryObject> values = new ArrayList<>();
    try {
      values.addAll(type.enumValues());
    } catch (BinaryObjectException unknown) {
      return names;
    }
    values.sort((one, other) -> Integer.compare(one.enumOrdinal(), other.enumOrdinal()));
    for (BinaryObject value : values) {
      if (value.enumOrdinal() != names.size()) {
        return new ArrayList<>();
      }
      names.add(value.enumName());
    }
    return names;
  }
}
