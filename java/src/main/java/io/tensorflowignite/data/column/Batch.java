package io.tensorflowignite.data.column;

import java.util.List;

/** Rows laid out as Arrow columns. Owns its memory until it is closed. */
public final class Batch implements AutoCloseable {
  private final int rows;
  private final List<ColumnData> columns;

  public Batch(int rows, List<ColumnData> columns) {
    this.rows = rows;
    this.columns = columns;
  }

  public int rows() {
    return rows;
  }

  /** In the order of the schema. */
  public List<ColumnData> columns() {
    return columns;
  }

  @Override
  public void close() {
    columns.forEach(ColumnData::release);
  }
}
