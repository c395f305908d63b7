package io.tensorflowignite.data.column;

import com.google.gson.Gson;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryType;

/** Types of Ignite that several Arrow types share: the metadata of the Arrow field names them. */
public enum LogicalType {
  UUID("uuid", ArrowType.Utf8.INSTANCE),
  DECIMAL("decimal", ArrowType.Utf8.INSTANCE),
  ENUM("enum", new ArrowType.Int(32, true));

  /** Key of the metadata entry with the type's name. */
  public static final String TYPE = "tensorflow-ignite.type";

  /** Key of the metadata entry with the names of an enum's values by ordinal, as a list in JSON. */
  public static final String NAMES = "tensorflow-ignite.enum";

  public final String text;
  private static final Gson JSON = new Gson();

  private final ArrowType type;

  LogicalType(String text, ArrowType type) {
    this.text = text;
    this.type = type;
  }

  /** Whether a field is of this type. */
  public boolean matches(Field field) {
    return text.equals(field.getMetadata().get(TYPE)) && type.equals(field.getType());
  }

  public Field field() {
    return field(Map.of(TYPE, text));
  }

  public static Field enumOf(List<String> names) {
    Map<String, String> metadata = new HashMap<>();
    metadata.put(TYPE, ENUM.text);
    if (!names.isEmpty()) {
      metadata.put(
          NAMES, names.stream().map(JSON::toJson).collect(Collectors.joining(", ", "[", "]")));
    }
    return ENUM.field(metadata);
  }

  private Field field(Map<String, String> metadata) {
    return new Field(null, new FieldType(false, type, null, metadata), null);
  }

  /**
   * Whether a value is one of an enum, which Ignite stores as a binary object of a special kind.
   */
  public static boolean isEnum(Object value) {
    if (!(value instanceof BinaryObject)) {
      return false;
    }
    try {
      return ((BinaryObject) value).type().isEnum();
    } catch (BinaryObjectException unknown) {
      return false;
    }
  }

  /**
   * The name of an enum's value; its ordinal in digits if the cluster has no names for the enum.
   */
  static String enumName(BinaryObject value) {
    try {
      return value.enumName();
    } catch (BinaryObjectException unknown) {
      return Integer.toString(value.enumOrdinal());
    }
  }

  /**
   * An enum's names by ordinal; empty if the cluster has none for the enum, or the ordinals have
   * gaps.
   */
  public static List<String> enumNames(BinaryType type) {
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

  static int ordinal(Object value, String expected) throws MismatchException {
    if (value instanceof Enum) {
      return ((Enum<?>) value).ordinal();
    }
    if (isEnum(value)) {
      return ((BinaryObject) value).enumOrdinal();
    }
    throw MismatchException.otherClass(value, expected);
  }
}
