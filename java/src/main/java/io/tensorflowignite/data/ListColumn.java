package io.tensorflowignite.data;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/** Arrays of any length: offsets, and a child with all their elements. */
final class ListColumn extends Column {
  private final Column child;
  private final GrowingBuffer offsets = buffer();
  private long end;

  ListColumn(Field field, Column child, BufferAllocator allocator) {
    super(field, allocator);
    this.child = child;
  }

  @Override
  void append(Object value) throws MismatchException {
    int elements = child.appendAll(value);
    end = fit(end + elements);
    Offsets.append(offsets, count(), end);
    added(1);
  }

  @Override
  int appendAll(Object array) throws MismatchException {
    throw new MismatchException("holds lists of lists, which are not supported");
  }

  @Override
  long bytes() {
    return (long) count() * Offsets.WIDTH + child.bytes();
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    ArrowBuf taken = Offsets.take(offsets, count());
    end = 0;
    return Arrays.asList(allValid(), taken);
  }

  @Override
  List<ColumnData> takeChildren() {
    return Collections.singletonList(child.take());
  }

  @Override
  void clear() {
    forgetCount();
    end = 0;
    offsets.clear();
    child.clear();
  }
}
