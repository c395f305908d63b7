package io.tensorflowignite.data.schema;

import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** The type of a column's values in Ignite and in Arrow. */
public final class ColumnType {
  /** The name of the child of Arrow's lists. */
  public static final String ITEM = "item";

  public final Class<?> storage;
  public final String binaryName;
  public final Field shape;

  /**
   * @param storage class of a value in Ignite
   * @param binaryName the class's name in Ignite's binary metadata
   * @param shape the Arrow type, with its children; Arrow's null for an unknown part
   */
  public ColumnType(Class<?> storage, String binaryName, Field shape) {
    this.storage = storage;
    this.binaryName = binaryName;
    this.shape = shape;
  }

  /** The Arrow field of a column of this type. */
  public Field field(String name) {
    return named(name, shape);
  }

  /** The field of the elements inside nested fixed lists; the field itself if it is none. */
  public static Field innermost(Field field) {
    Field inner = field;
    while (inner.getType() instanceof ArrowType.FixedSizeList) {
      inner = inner.getChildren().get(0);
    }
    return inner;
  }

  public static Field named(String name, Field field) {
    return new Field(name, field.getFieldType(), field.getChildren());
  }

  public static Field plain(String name, ArrowType type) {
    return new Field(name, FieldType.notNullable(type), null);
  }

  /** The field of an unknown type. */
  public static Field unknown() {
    return Field.nullable(null, ArrowType.Null.INSTANCE);
  }

  public static Field listOf(Field element) {
    List<Field> item = List.of(named(ITEM, element));
    return new Field(null, FieldType.notNullable(ArrowType.List.INSTANCE), item);
  }

  public static Field mapOf(Field key, Field value) {
    Field entries = struct("entries", List.of(named("key", key), named("value", value)));
    return new Field(null, FieldType.notNullable(new ArrowType.Map(false)), List.of(entries));
  }

  public static Field struct(String name, List<Field> fields) {
    return new Field(name, FieldType.notNullable(ArrowType.Struct.INSTANCE), fields);
  }

  public static Field withMetadata(Field field, Map<String, String> metadata) {
    FieldType type = new FieldType(field.isNullable(), field.getType(), null, metadata);
    return new Field(field.getName(), type, field.getChildren());
  }
}
