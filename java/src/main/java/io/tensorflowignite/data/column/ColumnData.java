package io.tensorflowignite.data.column;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/**
 * One finished column: its buffers in Arrow's order, the validity buffer first (empty if no value
 * is null), and its children. Owns the buffers.
 */
public final class ColumnData {
  private final int count;
  private final int nulls;
  private final List<ArrowBuf> buffers;
  private final List<ColumnData> children;

  public ColumnData(int count, int nulls, List<ArrowBuf> buffers, List<ColumnData> children) {
    this.count = count;
    this.nulls = nulls;
    this.buffers = buffers;
    this.children = children;
  }

  public int count() {
    return count;
  }

  /** Number of the values that are null. */
  public int nulls() {
    return nulls;
  }

  public List<ArrowBuf> buffers() {
    return buffers;
  }

  public List<ColumnData> children() {
    return children;
  }

  public void release() {
    buffers.forEach(ArrowBuf::close);
    children.forEach(ColumnData::release);
  }
}
