package io.tensorflowignite.data.column;

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

  /** Where the value of this index, which exists, begins. */
  static int start(GrowingBuffer offsets, int index) {
    return index == 0 ? 0 : offsets.require((index + 1L) * WIDTH).getInt((long) index * WIDTH);
  }

  /** Where the last of so many values ends. */
  static int end(GrowingBuffer offsets, int count) {
    return count == 0 ? 0 : offsets.require((count + 1L) * WIDTH).getInt((long) count * WIDTH);
  }

  static ArrowBuf take(GrowingBuffer offsets, int count) {
    if (count == 0) {
      offsets.require(WIDTH).setInt(0, 0);
    }
    return offsets.take((count + 1L) * WIDTH);
  }
}
