package io.tensorflowignite.data.column;

import org.apache.arrow.memory.ArrowBuf;

/**
 * The offsets buffer of columns whose values vary in length: 32-bit offsets, one more than values.
 */
final class Offsets {
  static final int WIDTH = 4;

  private Offsets() {}

  /** Stores the end of the value with an index. */
  static void append(GrowingBuffer offsets, int index, long end) {
    long at = (index + 1L) * WIDTH;
    ArrowBuf to = offsets.require(at + WIDTH);
    if (index == 0) {
      to.setInt(0, 0);
    }
    to.setInt(at, (int) end);
  }

  /** The start of the value with an index, which is the end of the value before it. */
  static int start(GrowingBuffer offsets, int index) {
    return index == 0 ? 0 : offsets.require((index + 1L) * WIDTH).getInt((long) index * WIDTH);
  }

  static ArrowBuf take(GrowingBuffer offsets, int count) {
    if (count == 0) {
      offsets.require(WIDTH).setInt(0, 0);
    }
    return offsets.take((count + 1L) * WIDTH);
  }
}
