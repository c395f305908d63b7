package io.tensorflowignite.data;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;

/** Lays rows out as Arrow columns and tells when a batch is full. One thread uses it. */
final class BatchWriter implements AutoCloseable {
  private final String cache;
  private final List<CacheColumn> names;
  private final RowField[] fields;
  private final Class<?>[] storages;
  private final Column[] columns;
  private final long batchBytes;
  private final int batchRows;
  private int rows;

  BatchWriter(
      String cache,
      List<CacheColumn> selected,
      long batchBytes,
      int batchRows,
      BufferAllocator allocator) {
    this.cache = cache;
    this.names = selected;
    this.batchBytes = batchBytes;
    this.batchRows = batchRows;
    int width = selected.size();
    fields = new RowField[width];
    storages = new Class<?>[width];
    columns = new Column[width];
    for (int i = 0; i < width; i++) {
      CacheColumn column = selected.get(i);
      fields[i] = column.rowField();
      storages[i] = column.type().storage();
      columns[i] = column.type().column(column.field(), allocator);
    }
  }

  void append(Object key, Object value) {
    for (int i = 0; i < columns.length; i++) {
      try {
        Object cell = fields[i].of(key, value);
        if (cell == null) {
          throw new MismatchException("is null");
        }
        if (cell.getClass() != storages[i]) {
          throw new MismatchException(
              "is of class "
                  + cell.getClass().getSimpleName()
                  + " instead of "
                  + storages[i].getSimpleName());
        }
        columns[i].append(cell);
      } catch (MismatchException mismatch) {
        throw new TensorFlowIgniteException(
            ErrorCode.ROW_MISMATCH,
            String.format(
                "cache %s, key %s: column %s %s; every row must fit the cache's schema (%s),"
                    + " without nulls; correct the row, or read other columns (columns=[...])",
                cache, key, names.get(i).name(), mismatch.getMessage(), names.get(i).field()));
      }
    }
    rows++;
  }

  boolean full() {
    return rows >= batchRows || bytes() >= batchBytes;
  }

  boolean isEmpty() {
    return rows == 0;
  }

  /** Hands over the rows so far; the writer starts a new batch. */
  Batch take() {
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
