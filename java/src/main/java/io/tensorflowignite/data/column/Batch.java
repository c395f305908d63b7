package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.BatchLayout;
import io.tensorflowignite.v1.BatchNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/** Rows laid out as Arrow columns. Owns its memory until it is closed. */
public final class Batch implements AutoCloseable {
  public final int rows;

  /** In the order of the schema. */
  public final List<ColumnData> columns;

  public Batch(int rows, List<ColumnData> columns) {
    this.rows = rows;
    this.columns = columns;
  }

  /**
   * The buffers of all columns, depth-first: a column's own buffers, then its children's buffers.
   */
  public List<ArrowBuf> buffers() {
    List<ArrowBuf> buffers = new ArrayList<>();
    columns.forEach(column -> addBuffers(column, buffers));
    return buffers;
  }

  /** The rows and nodes of these columns, in the same order; the caller adds the buffers. */
  public BatchLayout.Builder layout() {
    BatchLayout.Builder layout = BatchLayout.newBuilder().setRows(rows);
    columns.forEach(column -> addNodes(column, layout));
    return layout;
  }

  private static void addBuffers(ColumnData column, List<ArrowBuf> buffers) {
    buffers.addAll(column.buffers);
    column.children.forEach(child -> addBuffers(child, buffers));
  }

  private static void addNodes(ColumnData column, BatchLayout.Builder layout) {
    layout.addNodes(BatchNode.newBuilder().setLength(column.count).setNulls(column.nulls));
    column.children.forEach(child -> addNodes(child, layout));
  }

  @Override
  public void close() {
    columns.forEach(ColumnData::release);
  }

  /**
   * One finished column: its buffers in Arrow's order, the validity buffer first (empty if no value
   * is null), and its children. Owns the buffers.
   */
  public static final class ColumnData {
    public final int count;

    /** Number of the values that are null. */
    public final int nulls;

    public final List<ArrowBuf> buffers;
    public final List<ColumnData> children;

    public ColumnData(int count, int nulls, List<ArrowBuf> buffers, List<ColumnData> children) {
      this.count = count;
      this.nulls = nulls;
      this.buffers = buffers;
      this.children = children;
    }

    public void release() {
      buffers.forEach(ArrowBuf::close);
      children.forEach(ColumnData::release);
    }
  }
}
