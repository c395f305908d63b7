package io.tensorflowignite.data.column;

import com.google.common.math.LongMath;
import io.tensorflowignite.v1.Nulls;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Creates the columns of a batch. */
public final class Columns {
  private final Nulls nulls;
  private final boolean strict;
  private final BufferAllocator allocator;

  /**
   * @param strict columns accept only the class that Ignite stores, and convert no other
   */
  public Columns(Nulls nulls, boolean strict, BufferAllocator allocator) {
    this.nulls = nulls;
    this.strict = strict;
    this.allocator = allocator;
  }

  /** Whether columns of this Arrow type, with its children, can be created. */
  public static boolean areSupported(Field field) {
    if (field.getDictionary() != null) {
      return false;
    }
    ArrowType type = field.getType();
    if (type instanceof ArrowType.FixedSizeList
        && ((ArrowType.FixedSizeList) type).getListSize() < 1) {
      return false;
    }
    boolean nested =
        type instanceof ArrowType.List
            || type instanceof ArrowType.FixedSizeList
            || type instanceof ArrowType.Map
            || type instanceof ArrowType.Struct;
    if (nested) {
      return !field.getChildren().isEmpty()
          && field.getChildren().stream().allMatch(Columns::areSupported);
    }
    return type instanceof ArrowType.Bool
        || type instanceof ArrowType.Utf8
        || type instanceof ArrowType.Binary
        || FixedWidthColumn.Layout.of(field, false).isPresent();
  }

  /** The same field with nullable values, except the parts of a map for which Arrow has no null. */
  public static Field nullable(Field field) {
    boolean map = field.getType() instanceof ArrowType.Map;
    List<Field> children = new ArrayList<>();
    for (Field child : field.getChildren()) {
      children.add(map ? entries(child) : nullable(child));
    }
    FieldType was = field.getFieldType();
    FieldType type = new FieldType(true, was.getType(), was.getDictionary(), was.getMetadata());
    return new Field(field.getName(), type, children);
  }

  /** Bytes of the fixed-width parts of one value. */
  public static long fixedBytes(Field field) {
    ArrowType type = field.getType();
    long children = field.getChildren().stream().mapToLong(Columns::fixedBytes).sum();
    if (type instanceof ArrowType.FixedSizeList) {
      return LongMath.saturatedMultiply(((ArrowType.FixedSizeList) type).getListSize(), children);
    }
    if (type instanceof ArrowType.Struct) {
      return children;
    }
    return FixedWidthColumn.Layout.of(field, false).map(layout -> (long) layout.width).orElse(0L);
  }

  private static Field entries(Field entries) {
    List<Field> pair =
        List.of(entries.getChildren().get(0), nullable(entries.getChildren().get(1)));
    return new Field(entries.getName(), entries.getFieldType(), pair);
  }

  /**
   * An empty column.
   *
   * @param values expected values of a batch; 0: not known
   */
  public Column of(Field field, long values) {
    ArrowType type = field.getType();
    List<Field> children = field.getChildren();
    if (type instanceof ArrowType.List) {
      return new NestedColumn.Lists(nulls, allocator, of(children.get(0), 0));
    }
    if (type instanceof ArrowType.FixedSizeList) {
      int length = ((ArrowType.FixedSizeList) type).getListSize();
      Column child = of(children.get(0), values * length);
      return new NestedColumn.FixedLists(child, length, nulls, allocator);
    }
    if (type instanceof ArrowType.Struct) {
      List<String> names = new ArrayList<>();
      List<Column> columns = new ArrayList<>();
      for (Field child : children) {
        names.add(child.getName());
        columns.add(of(child, values));
      }
      return new NestedColumn.Structs(names, columns, nulls, allocator);
    }
    if (type instanceof ArrowType.Map) {
      List<Field> entry = children.get(0).getChildren();
      // Arrow has no null among a map's keys.
      Nulls ofKeys = nulls == Nulls.NULLS_KEEP ? Nulls.NULLS_ERROR : nulls;
      Column keys = new Columns(ofKeys, strict, allocator).of(entry.get(0), 0);
      return new NestedColumn.Maps(keys, of(entry.get(1), 0), nulls, allocator);
    }
    if (type instanceof ArrowType.Bool) {
      return new FixedWidthColumn.Bits(nulls, allocator);
    }
    if (type instanceof ArrowType.Utf8 || type instanceof ArrowType.Binary) {
      return new BytesColumn(field, strict, nulls, allocator);
    }
    FixedWidthColumn.Layout layout =
        FixedWidthColumn.Layout.of(field, strict)
            .orElseThrow(() -> new IllegalArgumentException("no column for " + field));
    return new FixedWidthColumn(layout, nulls, allocator, values);
  }
}
