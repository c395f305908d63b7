package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Lists of one length, of one dimension or more (a fixed list in a fixed list, whose values may be
 * stored flat): only a child.
 */
final class FixedListColumn extends Column {
  private final Column child;
  private final int length;
  private final int flatLength;

  FixedListColumn(Column child, int length, Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
    this.child = child;
    this.length = length;
    flatLength = length * (child instanceof FixedListColumn ? flatLength(child) : 1);
  }

  private static int flatLength(Column child) {
    return ((FixedListColumn) child).flatLength;
  }

  @Override
  public void put(Object value) throws MismatchException {
    int elements = Elements.count(value);
    boolean flat = child instanceof FixedListColumn && Elements.isFlat(value);
    int expected = flat ? flatLength : length;
    if (elements != expected) {
      throw new MismatchException("has " + elements + " elements instead of " + expected);
    }
    if (flat) {
      putFlat(value, 1);
    } else {
      Elements.add(value, child);
      added(1);
    }
  }

  /** Adds so many lists, whose elements stand side by side over all dimensions. */
  private void putFlat(Object elements, int lists) throws MismatchException {
    if (child instanceof FixedListColumn) {
      ((FixedListColumn) child).putFlat(elements, lists * length);
    } else {
      Elements.add(elements, child);
    }
    added(lists);
  }

  @Override
  public void putDefault() throws MismatchException {
    for (int i = 0; i < length; i++) {
      child.putDefault();
    }
    added(1);
  }

  @Override
  public void putNull() throws MismatchException {
    for (int i = 0; i < length; i++) {
      child.missing();
    }
    added(1);
  }

  @Override
  public long bytes() {
    return child.bytes();
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    return Collections.emptyList();
  }

  @Override
  public List<ColumnData> takeChildren() {
    return Collections.singletonList(child.take());
  }

  @Override
  public void forget(int from) {
    child.truncate(from * length);
  }

  @Override
  public void free() {
    child.clear();
  }
}
