package io.tensorflowignite.data.schema;

import io.tensorflowignite.data.column.RowField;
import java.util.function.Supplier;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;

/** One column of a cache: its name, its type as far as that is known, and where in a row it is. */
public final class CacheColumn {
  private final String name;
  private final ColumnType type;
  private final String typeName;
  private final Field field;
  private final boolean strict;
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
   * @param typeName as the schema's source calls it
   */
  public static CacheColumn of(
      String name, ColumnType type, String typeName, Supplier<RowField> rowField) {
    return new CacheColumn(name, type, typeName, type.field(name), true, rowField);
  }

  /**
   * The same column, its values laid out as a field says.
   *
   * @param strict only values of the type that the field is made for; else what can be converted
   */
  public CacheColumn as(Field other, boolean strict) {
    Field named = ColumnType.named(name, other);
    return new CacheColumn(name, type, typeName, named, strict, rowField);
  }

  /** The same type under another name, elsewhere in a row. */
  public CacheColumn at(String otherName, Supplier<RowField> otherField) {
    return new CacheColumn(
        otherName, type, typeName, ColumnType.named(otherName, field), strict, otherField);
  }

  public String name() {
    return name;
  }

  /** Whether the Arrow type is known, all of it. */
  public boolean known() {
    return isKnown(field);
  }

  public String typeName() {
    return typeName;
  }

  /** What the schema's source tells. */
  public ColumnType type() {
    return type;
  }

  public Field field() {
    return field;
  }

  public boolean strict() {
    return strict;
  }

  /** A new one for each reader. */
  public RowField rowField() {
    return rowField.get();
  }

  public static boolean isKnown(Field field) {
    return !(field.getType() instanceof ArrowType.Null)
        && field.getChildren().stream().allMatch(CacheColumn::isKnown);
  }
}
