package io.tensorflowignite.data.column;

import io.tensorflowignite.v1.Nulls;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Booleans: one bit for each value. */
final class BitColumn extends Column {
  private final GrowingBuffer bits = buffer();

  BitColumn(Nulls nulls, BufferAllocator allocator) {
    super(nulls, allocator);
  }

  @Override
  public void put(Object value) throws MismatchException {
    if (!(value instanceof Boolean)) {
      throw MismatchException.otherClass(value, "Boolean");
    }
    add((Boolean) value);
  }

  @Override
  public void putAll(Object array) throws MismatchException {
    if (!(array instanceof boolean[])) {
      super.putAll(array);
      return;
    }
    for (boolean value : (boolean[]) array) {
      add(value);
    }
  }

  @Override
  public void putDefault() {
    add(false);
  }

  private void add(boolean value) {
    BitBuffers.set(bits, count(), value);
    added(1);
  }

  @Override
  public long bytes() {
    return BitBuffers.bytes(count());
  }

  @Override
  public List<ArrowBuf> takeBuffers() {
    return List.of(bits.take(bytes()));
  }

  @Override
  public void free() {
    bits.clear();
  }
}
