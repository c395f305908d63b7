package io.tensorflowignite.data;

import java.lang.reflect.Array;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/**
 * Arrays of one length, of one dimension or more (a fixed list in a fixed list, stored flat): only
 * a child.
 */
final class FixedListColumn extends Column {
  private final Column child;
  private final int length;

  /**
   * @param length elements of the stored array for one value, over all its dimensions
   */
  FixedListColumn(Field field, Column child, int length, BufferAllocator allocator) {
    super(field, allocator);
    this.child = child;
    this.length = length;
  }

  @Override
  void append(Object value) throws MismatchException {
    int elements = Array.getLength(value);
    if (elements != length) {
      throw new MismatchException("has " + elements + " elements instead of " + length);
    }
    child.appendAll(value);
    added(1);
  }

  @Override
  int appendAll(Object array) throws MismatchException {
    int elements = Array.getLength(array);
    if (elements % length != 0) {
      throw new MismatchException("has " + elements + " elements, no multiple of " + length);
    }
    child.appendAll(array);
    added(elements / length);
    return elements / length;
  }

  @Override
  long bytes() {
    return child.bytes();
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    return Collections.singletonList(allValid());
  }

  @Override
  List<ColumnData> takeChildren() {
    return Collections.singletonList(child.take());
  }

  @Override
  void clear() {
    forgetCount();
    child.clear();
  }
}
