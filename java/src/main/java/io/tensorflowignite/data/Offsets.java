package io.tensorflowignite.data;

import org.apache.arrow.memory.ArrowBuf;

/**
 * The offsets buffer of columns whose values differ in length: 32 bits each, one more than there
 * are values.
 */
final class Offsets {
  static final int WIDTH = 4;

  private Offsets() {}

  /** Notes where the value of this index ends. */
  static void append(GrowingBuffer offsets, int index, long end) {
    long at = (index + 1L) * WIDTH;
    ArrowBuf to = offsets.require(at + WIDTH);
    if (index == 0) {
      to.setInt(0, 0);
    }
    to.setInt(at, (int) end);
  }

  static ArrowBuf take(GrowingBuffer offsets, int count) {
    if (count == 0) {
      offsets.require(WIDTH).setInt(0, 0);
    }
    return offsets.take((count + 1L) * WIDTH);
  }
}
