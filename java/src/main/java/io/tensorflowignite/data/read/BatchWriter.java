package io.tensorflowignite.data.read;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.Column;
import io.tensorflowignite.data.column.ColumnData;
import io.tensorflowignite.data.column.Columns;
import io.tensorflowignite.data.column.MismatchException;
import io.tensorflowignite.data.column.RowField;
import io.tensorflowignite.data.schema.CacheColumn;
import io.tensorflowignite.v1.Nulls;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.apache.arrow.memory.BufferAllocator;

/** Lays rows out as Arrow columns, batch by batch. Not thread-safe. */
public final class BatchWriter implements AutoCloseable {
  private static final int DEFAULT_ROWS = 65_536;

  private final String cache;
  private final List<CacheColumn> cacheColumns;
  private final RowField[] fields;
  private final Column[] columns;
  private final boolean skip;
  private final LongSupplier limit;
  private final int batchRows;
  private long batchBytes;
  private int rows;
  private long skipped;

  /**
   * @param skip leaves rows out that do not fit, and counts them, instead of throwing
   * @param limit returns the bytes of a full batch, before each batch
   * @param batchRows rows of a full batch, for which memory is allocated at the start; 0: 65,536,
   *     without memory at the start
   */
  public BatchWriter(
      String cache,
      List<CacheColumn> cacheColumns,
      Nulls nulls,
      boolean skip,
      LongSupplier limit,
      int batchRows,
      BufferAllocator allocator) {
    this.cache = cache;
    this.cacheColumns = cacheColumns;
    this.skip = skip;
    this.limit = limit;
    this.batchBytes = limit.getAsLong();
    this.batchRows = batchRows == 0 ? DEFAULT_ROWS : batchRows;
    long rowBytes =
        cacheColumns.stream().mapToLong(column -> Columns.fixedBytes(column.field())).sum();
    long expectedRows = Math.min(batchRows, batchBytes / Math.max(1, rowBytes));
    int width = cacheColumns.size();
    fields = new RowField[width];
    columns = new Column[width];
    for (int i = 0; i < width; i++) {
      CacheColumn column = cacheColumns.get(i);
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
        throw mismatch(key, cacheColumns.get(column), mismatch);
      }
      skipped++;
    }
  }

  /** Number of skipped rows. */
  public long skipped() {
    return skipped;
  }

  private TensorFlowIgniteException mismatch(
      Object key, CacheColumn column, MismatchException mismatch) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_ROW_MISMATCH,
        "cache %s, key %s: column %s%s %s; every row must fit the schema with which it is read"
            + " (%s), without nulls unless nulls= allows them; change the row, read other columns"
            + " (columns=[...]), fill or mark nulls (nulls=\"default\" or \"mask\"), or skip such"
            + " rows (on_mismatch=\"skip\")",
        cache,
        key,
        column.name(),
        mismatch.path(),
        mismatch.getMessage(),
        column.field());
  }

  public boolean isFull() {
    return rows >= batchRows || bytes() >= batchBytes;
  }

  public boolean isEmpty() {
    return rows == 0;
  }

  /** Returns the rows so far, which the caller owns, and starts a new batch. */
  public Batch take() {
    List<ColumnData> data = new ArrayList<>(columns.length);
    for (Column column : columns) {
      data.add(column.take());
    }
    Batch batch = new Batch(rows, data);
    rows = 0;
    batchBytes = limit.getAsLong();
    return batch;
  }

  /** Frees the rows that were not taken. */
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
