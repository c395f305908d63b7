package io.tensorflowignite.data.read;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.Batch.ColumnData;
import io.tensorflowignite.data.column.Column;
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
  private final Nulls nulls;
  private final BufferAllocator allocator;
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
    this.nulls = nulls;
    this.allocator = allocator;
    this.skip = skip;
    this.limit = limit;
    this.batchBytes = limit.getAsLong();
    this.batchRows = batchRows == 0 ? DEFAULT_ROWS : batchRows;
    long rowBytes =
        cacheColumns.stream().mapToLong(column -> Columns.fixedBytes(column.field)).sum();
    long expectedRows = Math.min(batchRows, batchBytes / Math.max(1, rowBytes));
    fields = cacheColumns.stream().map(CacheColumn::rowField).toArray(RowField[]::new);
    columns = new Column[fields.length];
    createColumns(expectedRows);
  }

  private void createColumns(long expectedRows) {
    for (int i = 0; i < columns.length; i++) {
      CacheColumn column = cacheColumns.get(i);
      columns[i] = new Columns(nulls, column.strict, allocator).of(column.field, expectedRows);
    }
  }

  /** Starts a batch within the limit of this moment. */
  private void start() {
    long bytes = limit.getAsLong();
    if (bytes < batchBytes) {
      // The buffers of the old columns would start with the size of the last batch.
      close();
      createColumns(0);
    }
    batchBytes = bytes;
  }

  /**
   * Adds a row, whole or not at all.
   *
   * @return false: it does not fit, and was skipped
   */
  public boolean append(Object key, Object value) {
    if (rows == 0) {
      start();
    }
    int column = 0;
    try {
      for (; column < columns.length; column++) {
        columns[column].append(fields[column].of(key, value));
      }
      rows++;
      return true;
    } catch (MismatchException mismatch) {
      for (Column each : columns) {
        each.truncate(rows);
      }
      if (!skip || mismatch.ofBatch) {
        throw mismatch(key, cacheColumns.get(column), mismatch);
      }
      skipped++;
      return false;
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
        "cache %s, key %s: column %s%s %s; every row must fit the schema of the request"
            + " (%s), without nulls unless nulls= allows them; change the row, read other columns"
            + " (columns=[...]), fill or mark nulls (nulls=\"default\" or \"mask\"), or skip such"
            + " rows (on_mismatch=\"skip\")",
        cache,
        key,
        column.name,
        mismatch.path,
        mismatch.getMessage(),
        column.field);
  }

  public boolean isFull() {
    return rows > 0 && (rows >= batchRows || bytes() >= batchBytes);
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
