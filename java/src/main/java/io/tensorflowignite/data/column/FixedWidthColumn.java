package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.lang.reflect.Array;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Numbers, dates and times: one buffer of values of a fixed width, side by side. */
final class FixedWidthColumn extends Column {
  private final FixedLayout layout;
  private final Class<?> exact;
  private final int width;
  private final GrowingBuffer values;

  /**
   * @param count expected values of the first batch; 0: not known
   */
  FixedWidthColumn(FixedLayout layout, Nulls nulls, BufferAllocator allocator, long count) {
    super(nulls, allocator);
    this.layout = layout;
    exact = layout.exact;
    width = layout.width;
    values = buffer(count * width);
  }

  @Override
  public void put(Object value) throws MismatchException {
    long at = (long) count() * width;
    ArrowBuf to = values.require(requireOffset(at + width));
    if (value.getClass() == exact) {
      layout.put.put(to, at, value);
    } else {
      layout.other.put(to, at, value);
    }
    added(1);
  }

  @Override
  public void putAll(Object array) throws MismatchException {
    if (array.getClass() != layout.array) {
      super.putAll(array);
      return;
    }
    int length = Array.getLength(array);
    long at = (long) count() * width;
    long bytes = (long) length * width;
    requireOffset(at + bytes);
    layout.putArray.put(values.requireView(at, bytes), array);
    added(length);
  }

  @Override
  public void putDefault() throws MismatchException {
    long at = (long) count() * width;
    values.require(requireOffset(at + width)).setZero(at, width);
    added(1);
  }

  @Override
  public long bytes() {
    return (long) count() * width;
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    return List.of(values.take(bytes()));
  }

  @Override
  public void free() {
    values.clear();
  }
}
