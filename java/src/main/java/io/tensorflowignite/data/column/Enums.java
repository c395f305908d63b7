package io.tensorflowignite.data.column;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryType;

/** Values of enums, which Ignite stores as binary objects of a special kind. */
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

  /** The name of a value; its ordinal in digits if the cluster has no names for the enum. */
  public static String name(BinaryObject value) {
    try {
      return value.enumName();
    } catch (BinaryObjectException unknown) {
      return Integer.toString(value.enumOrdinal());
    }
  }

  /** Names by ordinal; empty if the cluster has none for the enum, or the ordinals have gaps. */
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
    values.sort(Comparator.comparingInt(BinaryObject::enumOrdinal));
    for (BinaryObject value : values) {
      if (value.enumOrdinal() != names.size()) {
        return new ArrayList<>();
      }
      names.add(value.enumName());
    }
    return names;
  }
}
