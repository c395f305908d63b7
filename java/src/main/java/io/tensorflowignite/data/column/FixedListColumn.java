package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Lists of a fixed length: no buffer of their own, only a child. With a fixed list as child they
 * have several dimensions, and a stored value may be nested or flat.
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
    int elements = ListValues.count(value);
    boolean flat = child instanceof FixedListColumn && ListValues.isFlat(value);
    int expected = flat ? flatLength : length;
    if (elements != expected) {
      throw new MismatchException("has " + elements + " elements instead of " + expected);
    }
    if (flat) {
      putFlat(value, 1);
    } else {
      ListValues.add(value, child);
      added(1);
    }
  }

  /** Adds {@code lists} lists whose elements lie side by side, over all dimensions. */
  private void putFlat(Object elements, int lists) throws MismatchException {
    if (child instanceof FixedListColumn) {
      ((FixedListColumn) child).putFlat(elements, lists * length);
    } else {
      ListValues.add(elements, child);
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
      child.putMissing();
    }
    added(1);
  }

  @Override
  public long bytes() {
    return child.bytes();
  }

  @Override
  public List<ColumnData> takeChildren() {
    return List.of(child.take());
  }

  @Override
  public void truncateValues(int from) {
    child.truncate(from * length);
  }

  @Override
  public void free() {
    child.clear();
  }
}
