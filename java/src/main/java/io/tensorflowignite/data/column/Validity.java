package io.tensorflowignite.data.column;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Which values of a column are there: a bit for each, made with the first null of a batch. As long
 * as there is none it costs nothing.
 */
final class Validity {
  private final GrowingBuffer bits;
  private boolean made;
  private int nulls;

  Validity(BufferAllocator allocator) {
    bits = new GrowingBuffer(allocator, 0);
  }

  int nulls() {
    return nulls;
  }

  /** The values from this index on are there. */
  void valid(int from, int count) {
    if (made) {
      for (int i = from; i < from + count; i++) {
        Bits.set(bits, i, true);
      }
    }
  }

  /** The value of this index is null. */
  void missing(int index) {
    if (!made) {
      made = true;
      valid(0, index);
    }
    Bits.set(bits, index, false);
    nulls++;
  }

  /** Forgets the values from this index on. */
  void truncate(int from, int count) {
    for (int i = from; made && i < count; i++) {
      if (!Bits.get(bits, i)) {
        nulls--;
      }
    }
  }

  /** Hands the bits over; an empty buffer when no value is null. */
  ArrowBuf take(int count) {
    ArrowBuf taken = bits.take(nulls == 0 ? 0 : Bits.bytes(count));
    made = false;
    nulls = 0;
    return taken;
  }

  void clear() {
    made = false;
    nulls = 0;
    bits.clear();
  }
}
