package io.tensorflowignite.data;

import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.types.pojo.Field;

/** Booleans: a bit for each. */
final class BitColumn extends Column {
  private final GrowingBuffer bits = buffer();

  BitColumn(Field field, BufferAllocator allocator) {
    super(field, allocator);
  }

  @Override
  void append(Object value) {
    put((Boolean) value);
  }

  @Override
  int appendAll(Object array) {
    boolean[] values = (boolean[]) array;
    for (boolean value : values) {
      put(value);
    }
    return values.length;
  }

  private void put(boolean value) {
    int index = count();
    long at = index >>> 3;
    ArrowBuf to = bits.require(at + 1);
    int bit = (value ? 1 : 0) << (index & 7);
    // The first bit of a byte overwrites what the memory held.
    to.setByte(at, (index & 7) == 0 ? bit : to.getByte(at) | bit);
    added(1);
  }

  @Override
  long bytes() {
    return (count() + 7L) >>> 3;
  }

  @Override
  List<ArrowBuf> takeBuffers() {
    return Arrays.asList(allValid(), bits.take(bytes()));
  }

  @Override
  void clear() {
    forgetCount();
    bits.clear();
  }
}
