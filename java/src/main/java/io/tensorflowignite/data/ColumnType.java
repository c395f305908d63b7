package io.tensorflowignite.data;

import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** How the values of a column are stored in Ignite, and how they are laid out in Arrow. */
final class ColumnType {
  /** Of the child in Arrow's lists. */
  static final String ITEM = "item";

  private final Class<?> storage;
  private final String binaryName;
  private final Field shape;
  private final ElementType leaf;

  /**
   * @param storage class of a value in Ignite
   * @param binaryName the name of that class in Ignite's binary metadata
   * @param shape the Arrow type, with its children
   * @param leaf the fixed-width type inside; null for booleans, strings and bytes
   */
  ColumnType(Class<?> storage, String binaryName, Field shape, ElementType leaf) {
    this.storage = storage;
    this.binaryName = binaryName;
    this.shape = shape;
    this.leaf = leaf;
  }

  Class<?> storage() {
    return storage;
  }

  String binaryName() {
    return binaryName;
  }

  ElementType leaf() {
    return leaf;
  }

  /** The Arrow field of a column of this type, under a name. */
  Field field(String name) {
    return new Field(name, shape.getFieldType(), shape.getChildren());
  }

  /** An empty column. */
  Column column(Field field, BufferAllocator allocator) {
    ArrowType type = field.getType();
    if (type instanceof ArrowType.List) {
      return new ListColumn(field, column(field.getChildren().get(0), allocator), allocator);
    }
    if (type instanceof ArrowType.FixedSizeList) {
      Column child = column(field.getChildren().get(0), allocator);
      return new FixedListColumn(field, child, flatLength(field), allocator);
    }
    if (type instanceof ArrowType.Bool) {
      return new BitColumn(field, allocator);
    }
    if (type instanceof ArrowType.Utf8 || type instanceof ArrowType.Binary) {
      return new BytesColumn(field, type instanceof ArrowType.Utf8, allocator);
    }
    return new FixedWidthColumn(field, leaf, allocator);
  }

  /**
   * Elements of one value of a fixed list, over all its dimensions; 1 for what is no fixed list.
   */
  static int flatLength(Field field) {
    int length = 1;
    Field at = field;
    while (at.getType() instanceof ArrowType.FixedSizeList) {
      length = Math.multiplyExact(length, ((ArrowType.FixedSizeList) at.getType()).getListSize());
      at = at.getChildren().get(0);
    }
    return length;
  }

  static Field plain(String name, ArrowType type) {
    return new Field(name, FieldType.notNullable(type), null);
  }

  static Field listOf(ArrowType element) {
    List<Field> item = Collections.singletonList(plain(ITEM, element));
    return new Field(null, FieldType.notNullable(ArrowType.List.INSTANCE), item);
  }
}
