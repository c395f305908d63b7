package io.tensorflowignite.data;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/** Numbers: one buffer of values side by side. */
final class FixedWidthColumn extends Column {
  private final ElementType element;
  private final GrowingBuffer values = buffer();

  FixedWidthColumn(Field field, ElementType element, BufferAllocator allocator) {
    super(field, allocator);
    this.element = element;
  }

  @Override
  void append(Object value) {
    long at = (long) count() * element.width;
    element.putValue.put(values.require(at + element.width), at, value);
    added(1);
  }

  @Override
  int appendAll(Object array) throws MismatchException {
    int length = Array.getLength(array);
    long at = (long) count() * element.width;
    long bytes = (long) length * element.width;
    fit(at + bytes);
    element.putArray.put(values.requireView(at, bytes), array);
    added(length);
    return length;
  }

  @Override
  long bytes() {
    return (long) count() * element.width;
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    return Arrays.asList(allValid(), values.take(bytes()));
  }

  @Override
  void clear() {
    forgetCount();
    values.clear();
  }
}
