package io.tensorflowignite.data;

import java.util.function.Supplier;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * One column of a cache: its name, its type where that is supported, and where in a row it stands.
 */
final class CacheColumn {
  private final String name;
  private final ColumnType type;
  private final String typeName;
  private final Supplier<RowField> rowField;

  private CacheColumn(String name, ColumnType type, String typeName, Supplier<RowField> rowField) {
    this.name = name;
    this.type = type;
    this.typeName = typeName;
    this.rowField = rowField;
  }

  /**
   * @param typeName as the schema's source calls it
   * @param type null when it is not supported
   */
  static CacheColumn of(
      String name, ColumnType type, String typeName, Supplier<RowField> rowField) {
    return new CacheColumn(name, type, typeName, rowField);
  }

  String name() {
    return name;
  }

  boolean supported() {
    return type != null;
  }

  String typeName() {
    return typeName;
  }

  /** Only of a supported column. */
  ColumnType type() {
    return type;
  }

  Field field() {
    return type.field(name);
  }

  /** A new one for each reader. */
  RowField rowField() {
    return rowField.get();
  }
}
