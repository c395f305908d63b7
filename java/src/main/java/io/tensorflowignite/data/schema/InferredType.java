package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.LogicalType;
import io.tensorflowignite.data.column.MismatchException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryType;

/** The common type of observed values: a value may add parts to the type, but not change it. */
final class InferredType {
  private static final int MAX_DEPTH = 32;

  private final int depth;
  private String kind;
  private Field leaf;
  private List<String> names;
  private InferredType key;
  private InferredType item;
  private final Map<String, InferredType> fields = new LinkedHashMap<>();

  InferredType() {
    this(0);
  }

  private InferredType(int depth) {
    this.depth = depth;
  }

  /**
   * @throws MismatchException the value's type cannot be read, or differs from the type of earlier
   *     values
   */
  void observe(Object value) throws MismatchException {
    if (value == null) {
      return;
    }
    if (depth > MAX_DEPTH) {
      throw new MismatchException("is nested more than " + MAX_DEPTH + " levels deep");
    }
    Optional<ColumnType> known =
        ColumnTypes.ofClass(value.getClass()).filter(type -> CacheColumn.isKnown(type.shape));
    if (known.isPresent()) {
      observe(known.get().shape, value.getClass().getSimpleName());
    } else if (value instanceof Object[]) {
      observeAll(Arrays.asList((Object[]) value));
    } else if (value instanceof Collection) {
      observeAll((Collection<?>) value);
    } else if (value instanceof Map) {
      observeMap((Map<?, ?>) value);
    } else if (LogicalType.isEnum(value)) {
      observeEnum(typeOf((BinaryObject) value));
    } else if (value instanceof BinaryObject) {
      observeObject((BinaryObject) value);
    } else {
      throw new MismatchException(
          "holds values of class " + value.getClass().getName() + ", which cannot be read");
    }
  }

  /** The type so far; Arrow's null for parts without an observed value. */
  Field field() {
    if (kind == null) {
      return ColumnType.unknown();
    }
    switch (kind) {
      case "lists":
        return ColumnType.listOf(item.field());
      case "maps":
        return ColumnType.mapOf(key.field(), item.field());
      case "enums":
        return LogicalType.enumOf(names);
      case "objects":
        List<Field> children = new ArrayList<>();
        fields.forEach((name, type) -> children.add(ColumnType.named(name, type.field())));
        return children.isEmpty() ? ColumnType.unknown() : ColumnType.struct(null, children);
      default:
        return leaf;
    }
  }

  private void observe(Field shape, String name) throws MismatchException {
    if (shape.getType() instanceof ArrowType.List) {
      requireKind("lists");
      item().observe(shape.getChildren().get(0), name.replace("[]", ""));
    } else {
      requireKind(name);
      leaf = shape;
    }
  }

  private void observeAll(Collection<?> values) throws MismatchException {
    requireKind("lists");
    int position = 0;
    item();
    for (Object value : values) {
      try {
        item.observe(value);
      } catch (MismatchException mismatch) {
        throw mismatch.at(position);
      }
      position++;
    }
  }

  private InferredType item() {
    item = item == null ? new InferredType(depth + 1) : item;
    return item;
  }

  private void observeMap(Map<?, ?> map) throws MismatchException {
    requireKind("maps");
    key = key == null ? new InferredType(depth + 1) : key;
    item();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      key.observe(entry.getKey());
      item.observe(entry.getValue());
    }
  }

  private void observeEnum(BinaryType type) throws MismatchException {
    requireKind("enums");
    List<String> ofType = LogicalType.enumNames(type);
    // Values of several enums have no common names.
    names = names == null || names.equals(ofType) ? ofType : List.of();
  }

  private void observeObject(BinaryObject object) throws MismatchException {
    requireKind("objects");
    BinaryType type = typeOf(object);
    for (String name : type.fieldNames()) {
      InferredType field = fields.computeIfAbsent(name, added -> new InferredType(depth + 1));
      ColumnType declared = ColumnTypes.ofAnyName(type.fieldTypeName(name));
      try {
        if (CacheColumn.isKnown(declared.shape) && !LogicalType.ENUM.matches(declared.shape)) {
          field.observe(declared.shape, declared.storage.getSimpleName());
        } else {
          field.observe(object.<Object>field(name));
        }
      } catch (MismatchException mismatch) {
        throw mismatch.inField(name);
      }
    }
  }

  /** The type of an object, which its writer has registered. */
  static BinaryType typeOf(BinaryObject object) throws MismatchException {
    BinaryType type = object.type();
    try {
      // Ignite looks the type up here.
      type.typeName();
      return type;
    } catch (BinaryObjectException unknown) {
      throw new MismatchException(
          "is an object whose fields no node knows: the program that put it has not registered its"
              + " type (pyignite: client.register_binary_type(Type) before the first put of a"
              + " key, or Client(partition_aware=False))");
    }
  }

  private void requireKind(String other) throws MismatchException {
    if (kind != null && !kind.equals(other)) {
      throw new MismatchException("holds values of types " + kind + " and " + other);
    }
    kind = other;
  }
}
