package io.tensorflowignite.data.read;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.Column;
import io.tensorflowignite.data.column.ColumnData;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Nulls;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;

/** Lays rows out as Arrow columns and tells when a batch is full. One thread uses it. */
public final class BatchWriter implements AutoCloseable {
  private static final int DEFAULT_ROWS = 65_536;

  private final String cache;
  private final List<CacheColumn> names;
  private final RowField[] fields;
  private final Column[] columns;
  private final boolean skip;
  private final long batchBytes;
  private final int batchRows;
  private int rows;
  private long skipped;

  /**
   * @param skip rows that do not fit are left out and counted, instead of being an error
   * @param batchBytes a batch of so many is full
   * @param batchRows so is one of so many, for which there is room from the start; 0: whatever
   *     fits, as far as 65,536
   */
  public BatchWriter(
      String cache,
      List<CacheColumn> selected,
      Nulls nulls,
      boolean skip,
      long batchBytes,
      int batchRows,
      BufferAllocator allocator) {
    this.cache = cache;
    this.names = selected;
    this.skip = skip;
    this.batchBytes = batchBytes;
    this.batchRows = batchRows == 0 ? DEFAULT_ROWS : batchRows;
    long rowBytes = selected.stream().mapToLong(column -> Columns.fixedBytes(column.field())).sum();
    long expectedRows = Math.min(batchRows, batchBytes / Math.max(1, rowBytes));
    int width = selected.size();
    fields = new RowField[width];
    columns = new Column[width];
    for (int i = 0; i < width; i++) {
      CacheColumn column = selected.get(i);
      fields[i] = column.rowField();
      columns[i] = new Columns(nulls, column.strict(), allocator).of(column.field(), expectedRows);
    }
  }

  /** Adds a row, whole or not at all. */
  public void append(Object key, Object value) {
    int column = 0;
    try {
      for (; column < columns.length; column++) {
        columns[column].append(fields[column].of(key, value));
      }
      rows++;
    } catch (MismatchException mismatch) {
      for (Column each : columns) {
        each.truncate(rows);
      }
      if (!skip || mismatch.ofBatch()) {
        throw mismatch(key, names.get(column), mismatch);
      }
      skipped++;
    }
  }

  /** Rows so far that were left out. */
  public long skipped() {
    return skipped;
  }

  private TensorFlowIgniteException mismatch(
      Object key, CacheColumn column, MismatchException mismatch) {
    return new TensorFlowIgniteException(
        ErrorCode.ROW_MISMATCH,
        String.format(
            "cache %s, key %s: column %s%s %s; every row must fit the schema it is read with (%s),"
                + " without nulls unless these are asked for; correct the row, read other columns"
                + " (columns=[...]), fill or mark nulls (nulls=\"default\" or \"mask\"), or leave"
                + " such rows out (on_mismatch=\"skip\")",
            cache, key, column.name(), mismatch.path(), mismatch.getMessage(), column.field()));
  }

  public boolean full() {
    return rows >= batchRows || bytes() >= batchBytes;
  }

  public boolean isEmpty() {
    return rows == 0;
  }

  /** Hands over the rows so far; the writer starts a new batch. */
  public Batch take() {
    List<ColumnData> data = new ArrayList<>(columns.length);
    for (Column column : columns) {
      data.add(column.take());
    }
    Batch batch = new Batch(rows, data);
    rows = 0;
    return batch;
  }

  /** Frees what was not taken. */
  @Override
  public void close() {
    for (Column column : columns) {
      column.clear();
    }
    rows = 0;
  }

  private long bytes() {
    long bytes = 0;
    for (Column column : columns) {
      bytes += column.bytes();
    }
    return bytes;
  }
}
