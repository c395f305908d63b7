package io.tensorflowignite.data;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/**
 * One finished column: its buffers in Arrow's order, validity first (empty when no value is null),
 * and its children. Owns the buffers.
 */
final class ColumnData {
  private final int count;
  private final int nulls;
  private final List<ArrowBuf> buffers;
  private final List<ColumnData> children;

  ColumnData(int count, int nulls, List<ArrowBuf> buffers, List<ColumnData> children) {
    this.count = count;
    this.nulls = nulls;
    this.buffers = buffers;
    this.children = children;
  }

  int count() {
    return count;
  }

  /** How many of the values are null. */
  int nulls() {
    return nulls;
  }

  List<ArrowBuf> buffers() {
    return buffers;
  }

  List<ColumnData> children() {
    return children;
  }

  void release() {
    buffers.forEach(ArrowBuf::close);
    children.forEach(ColumnData::release);
  }
}
