package io.tensorflowignite.data;

import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * One column of a batch under construction, laid out as Arrow prescribes but without validity
 * buffers: no value is null, and for uint8 arrays they would add an eighth to what travels.
 */
abstract class Column {
  /** What the offsets of a batch can count. */
  static final long MAX_OFFSET = Integer.MAX_VALUE;

  private final Field field;
  private final BufferAllocator allocator;
  private int count;

  Column(Field field, BufferAllocator allocator) {
    this.field = field;
    this.allocator = allocator;
  }

  /** Adds one value, of exactly the class that the column's type stores. */
  abstract void append(Object value) throws MismatchException;

  /**
   * Adds the elements of an array, as values of a list.
   *
   * @return how many values of this column it made
   */
  abstract int appendAll(Object array) throws MismatchException;

  /** How many bytes the column's values take, with its children. */
  abstract long bytes();

  /** Hands over the buffers that hold the column's values, and forgets them. */
  abstract List<ArrowBuf> takeBuffers();

  /** Frees what the column holds. */
  abstract void clear();

  List<ColumnData> takeChildren() {
    return Collections.emptyList();
  }

  /** Hands over the column as it stands; it starts anew, empty. */
  final ColumnData take() {
    List<ArrowBuf> buffers = takeBuffers();
    List<ColumnData> children = takeChildren();
    ColumnData data = new ColumnData(count, buffers, children);
    count = 0;
    return data;
  }

  final Field field() {
    return field;
  }

  final int count() {
    return count;
  }

  final void added(int values) {
    count += values;
  }

  final void forgetCount() {
    count = 0;
  }

  /** Stands for the validity buffer. */
  final ArrowBuf allValid() {
    return allocator.getEmpty();
  }

  final GrowingBuffer buffer() {
    return new GrowingBuffer(allocator);
  }

  static long fit(long offset) throws MismatchException {
    if (offset > MAX_OFFSET) {
      throw new MismatchException("makes its batch exceed " + MAX_OFFSET + " bytes");
    }
    return offset;
  }
}
