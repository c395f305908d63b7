package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.data.schema.ColumnType;
import io.tensorflowignite.data.schema.ColumnTypes;
import java.math.BigDecimal;
import java.util.List;
import org.apache.ignite.internal.processors.query.GridQueryFieldMetadata;

/** The types of a SELECT's columns. */
final class SqlColumns {
  /** What SQL tells of values that are none of its own types. */
  private static final String ANY = Object.class.getName();

  private SqlColumns() {}

  static boolean isUntold(GridQueryFieldMetadata told) {
    return told.fieldTypeName().equals(ANY);
  }

  /**
   * @param told what Ignite tells of the column
   * @param at its place in the rows
   * @param stored the cache's field that it is, where SQL does not tell its type; null otherwise
   */
  static CacheColumn of(String name, GridQueryFieldMetadata told, int at, CacheColumn stored) {
    return stored == null
        ? CacheColumn.of(name, type(told), told.fieldTypeName(), () -> cell(at))
        : stored.at(name, () -> cell(at));
  }

  private static ColumnType type(GridQueryFieldMetadata told) {
    return told.fieldTypeName().equals(BigDecimal.class.getName())
        ? ColumnTypes.decimal(told.precision(), told.scale())
        : ColumnTypes.ofAnyName(told.fieldTypeName());
  }

  private static RowField cell(int at) {
    return (key, row) -> ((List<?>) row).get(at);
  }
}
