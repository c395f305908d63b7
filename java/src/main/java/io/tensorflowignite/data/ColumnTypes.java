package io.tensorflowignite.data;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * The table of types.
 *
 * <pre>
 * in Ignite                                      Arrow, when Ignite's metadata tell the type
 * byte short int long float double boolean       int8 int16 int32 int64 float32 float64 bool
 * char                                           uint16
 * String                                         utf8
 * byte[]                                         binary (same bytes as a list of uint8 or int8 would have)
 * other primitive arrays, String[]               list of the above
 *
 * Arrow, in a schema that was stored at a load   in Ignite
 * int8 … int64, float32, float64, bool, utf8     as above
 * uint8 uint16 uint32                            short int long
 * binary                                         byte[]
 * list, fixed_size_list (also nested) of these   flat arrays; of uint8: byte[], of uint16: char[], of uint32: none
 * </pre>
 */
final class ColumnTypes {
  private static final Map<Class<?>, ColumnType> BY_CLASS = new HashMap<>();
  private static final Map<String, ColumnType> BY_NAME = new HashMap<>();

  static {
    for (ElementType element : ElementType.values()) {
      register(
          new ColumnType(
              element.single, element.binaryName, ColumnType.plain(null, element.arrow), element));
      if (element.array != null && element.array != byte[].class) {
        String name = element.array.getSimpleName();
        register(new ColumnType(element.array, name, ColumnType.listOf(element.arrow), element));
      }
    }
    ArrowType bool = ArrowType.Bool.INSTANCE;
    ArrowType text = ArrowType.Utf8.INSTANCE;
    ArrowType bytes = ArrowType.Binary.INSTANCE;
    register(new ColumnType(Boolean.class, "boolean", ColumnType.plain(null, bool), null));
    register(new ColumnType(boolean[].class, "boolean[]", ColumnType.listOf(bool), null));
    register(new ColumnType(String.class, "String", ColumnType.plain(null, text), null));
    register(new ColumnType(String[].class, "String[]", ColumnType.listOf(text), null));
    register(new ColumnType(byte[].class, "byte[]", ColumnType.plain(null, bytes), null));
  }

  private ColumnTypes() {}

  /** The type of a class that Ignite stores. */
  static Optional<ColumnType> ofClass(Class<?> storage) {
    return Optional.ofNullable(BY_CLASS.get(storage));
  }

  /**
   * The type of a name in Ignite's binary metadata ("int", "String[]") or of a Java class
   * ("java.lang.Integer", "[I").
   */
  static Optional<ColumnType> ofName(String name) {
    return Optional.ofNullable(BY_NAME.get(name));
  }

  /** The type of a field of a stored Arrow schema. */
  static Optional<ColumnType> ofField(Field field) {
    if (field.getDictionary() != null) {
      return Optional.empty();
    }
    Field leaf = field;
    boolean array = false;
    if (leaf.getType() instanceof ArrowType.List) {
      array = true;
      leaf = leaf.getChildren().get(0);
    }
    while (leaf.getType() instanceof ArrowType.FixedSizeList) {
      if (((ArrowType.FixedSizeList) leaf.getType()).getListSize() < 1) {
        return Optional.empty();
      }
      array = true;
      leaf = leaf.getChildren().get(0);
    }
    return array ? ofArray(field, leaf.getType()) : ofSingle(field, leaf.getType());
  }

  private static Optional<ColumnType> ofSingle(Field field, ArrowType type) {
    Optional<ElementType> element = ElementType.of(type);
    if (element.isPresent()) {
      ElementType found = element.get();
      return Optional.of(new ColumnType(found.single, found.binaryName, field, found));
    }
    if (type instanceof ArrowType.Bool) {
      return Optional.of(new ColumnType(Boolean.class, "boolean", field, null));
    }
    if (type instanceof ArrowType.Utf8) {
      return Optional.of(new ColumnType(String.class, "String", field, null));
    }
    if (type instanceof ArrowType.Binary) {
      return Optional.of(new ColumnType(byte[].class, "byte[]", field, null));
    }
    return Optional.empty();
  }

  private static Optional<ColumnType> ofArray(Field field, ArrowType type) {
    Optional<ElementType> element = ElementType.of(type).filter(found -> found.array != null);
    if (element.isPresent()) {
      Class<?> storage = element.get().array;
      return Optional.of(new ColumnType(storage, storage.getSimpleName(), field, element.get()));
    }
    if (type instanceof ArrowType.Bool) {
      return Optional.of(new ColumnType(boolean[].class, "boolean[]", field, null));
    }
    if (type instanceof ArrowType.Utf8) {
      return Optional.of(new ColumnType(String[].class, "String[]", field, null));
    }
    return Optional.empty();
  }

  private static void register(ColumnType type) {
    BY_CLASS.putIfAbsent(type.storage(), type);
    BY_NAME.putIfAbsent(type.binaryName(), type);
    BY_NAME.putIfAbsent(type.storage().getName(), type);
  }
}
