package io.tensorflowignite.data.column;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * The validity buffer of a column: one bit for each value, 0 for a null. It is created with the
 * first null of a batch and costs nothing before.
 */
final class Validity {
  private final GrowingBuffer bits;
  private boolean created;
  private int nulls;

  Validity(BufferAllocator allocator) {
    bits = new GrowingBuffer(allocator, 0);
  }

  int nulls() {
    return nulls;
  }

  void setValid(int from, int count) {
    if (created) {
      for (int i = from; i < from + count; i++) {
        BitBuffers.set(bits, i, true);
      }
    }
  }

  void setNull(int index) {
    if (!created) {
      created = true;
      setValid(0, index);
    }
    BitBuffers.set(bits, index, false);
    nulls++;
  }

  /** Removes the values from an index on. */
  void truncate(int from, int count) {
    for (int i = from; created && i < count; i++) {
      if (!BitBuffers.get(bits, i)) {
        nulls--;
      }
    }
  }

  /** Returns the bits, which the caller owns; an empty buffer if no value is null. */
  ArrowBuf take(int count) {
    ArrowBuf taken = bits.take(nulls == 0 ? 0 : BitBuffers.bytes(count));
    created = false;
    nulls = 0;
    return taken;
  }

  void clear() {
    created = false;
    nulls = 0;
    bits.clear();
  }
}
