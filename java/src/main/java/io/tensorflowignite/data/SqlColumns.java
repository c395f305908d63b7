package io.tensorflowignite.data;

import java.util.List;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/** The types of a SELECT's columns. */
final class SqlColumns {
  /** What SQL tells of values that are none of its own types. */
  private static final String ANY = Object.class.getName();

  private SqlColumns() {}

  /**
   * @param told what Ignite tells of the column
   * @param field the cache's field that it is; null when it is computed
   * @param schema what is known of the cache's fields; null: nothing
   * @param at its place in the rows
   */
  static CacheColumn of(
      String name, GridQueryFieldMetadata told, String field, CacheSchema schema, int at) {
    if (told.fieldTypeName().equals(ANY) && field != null && schema != null) {
      for (CacheColumn column : schema.columns()) {
        if (column.name().equals(field)) {
          ColumnType type = column.supported() ? column.type() : null;
          return CacheColumn.of(name, type, column.typeName(), () -> cell(at));
        }
      }
    }
    ColumnType type = ColumnTypes.ofName(told.fieldTypeName()).orElse(null);
    return CacheColumn.of(name, type, told.fieldTypeName(), () -> cell(at));
  }

  private static RowField cell(int at) {
    return (key, row) -> ((List<?>) row).get(at);
  }
}
