package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.RowField;
import java.util.function.Supplier;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** One column of a cache: its name, its type as far as known, and how to get it from a row. */
public final class CacheColumn {
  public final String name;

  /** The stored type, from the schema's source. */
  public final ColumnType type;

  public final String typeName;
  public final Field field;
  public final boolean strict;
  private final Supplier<RowField> rowField;

  private CacheColumn(
      String name,
      ColumnType type,
      String typeName,
      Field field,
      boolean strict,
      Supplier<RowField> rowField) {
    this.name = name;
    this.type = type;
    this.typeName = typeName;
    this.field = field;
    this.strict = strict;
    this.rowField = rowField;
  }

  /**
   * @param typeName the type's name in the source of the schema
   */
  public static CacheColumn of(
      String name, ColumnType type, String typeName, Supplier<RowField> rowField) {
    return new CacheColumn(name, type, typeName, type.field(name), true, rowField);
  }

  /**
   * The same column with the Arrow type of another field.
   *
   * @param strict accepts only the class that Ignite stores for that type, and converts no other
   */
  public CacheColumn as(Field other, boolean strict) {
    Field named = ColumnType.named(name, other);
    return new CacheColumn(name, type, typeName, named, strict, rowField);
  }

  /** A column of the same type with another name and another position in a row. */
  public CacheColumn at(String otherName, Supplier<RowField> otherField) {
    return new CacheColumn(
        otherName, type, typeName, ColumnType.named(otherName, field), strict, otherField);
  }

  /** Whether the Arrow types of the column and of all its children are known. */
  public boolean isKnown() {
    return isKnown(field);
  }

  /** Returns a new object with each call, since a {@link RowField} is not thread-safe. */
  public RowField rowField() {
    return rowField.get();
  }

  public static boolean isKnown(Field field) {
    return !(field.getType() instanceof ArrowType.Null)
        && field.getChildren().stream().allMatch(CacheColumn::isKnown);
  }
}
