package io.tensorflowignite.data.schema;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** How the values of a column are stored in Ignite, and what they are in Arrow. */
public final class ColumnType {
  /** Of the child in Arrow's lists. */
  public static final String ITEM = "item";

  private final Class<?> storage;
  private final String binaryName;
  private final Field shape;

  /**
   * @param storage class of a value in Ignite
   * @param binaryName the name of that class in Ignite's binary metadata
   * @param shape the Arrow type, with its children; Arrow's null where nothing tells it yet
   */
  public ColumnType(Class<?> storage, String binaryName, Field shape) {
    this.storage = storage;
    this.binaryName = binaryName;
    this.shape = shape;
  }

  public Class<?> storage() {
    return storage;
  }

  public String binaryName() {
    return binaryName;
  }

  public Field shape() {
    return shape;
  }

  /** The Arrow field of a column of this type, under a name. */
  public Field field(String name) {
    return named(name, shape);
  }

  /**
   * Elements of one value of a fixed list, over all its dimensions; 1 for what is no fixed list.
   */
  public static int flatLength(Field field) {
    int length = 1;
    Field at = field;
    while (at.getType() instanceof ArrowType.FixedSizeList) {
      length = Math.multiplyExact(length, ((ArrowType.FixedSizeList) at.getType()).getListSize());
      at = at.getChildren().get(0);
    }
    return length;
  }

  public static Field named(String name, Field field) {
    return new Field(name, field.getFieldType(), field.getChildren());
  }

  public static Field plain(String name, ArrowType type) {
    return new Field(name, FieldType.notNullable(type), null);
  }

  /** Stands for a type that nothing tells yet. */
  public static Field unknown() {
    return Field.nullable(null, ArrowType.Null.INSTANCE);
  }

  public static Field listOf(Field element) {
    List<Field> item = Collections.singletonList(named(ITEM, element));
    return new Field(null, FieldType.notNullable(ArrowType.List.INSTANCE), item);
  }

  public static Field mapOf(Field key, Field value) {
    Field entries = struct("entries", List.of(named("key", key), named("value", value)));
    return new Field(
        null, FieldType.notNullable(new ArrowType.Map(false)), Collections.singletonList(entries));
  }

  public static Field struct(String name, List<Field> fields) {
    return new Field(name, FieldType.notNullable(ArrowType.Struct.INSTANCE), fields);
  }

  public static Field withMetadata(Field field, Map<String, String> metadata) {
    FieldType type = new FieldType(field.isNullable(), field.getType(), null, metadata);
    return new Field(field.getName(), type, field.getChildren());
  }
}
