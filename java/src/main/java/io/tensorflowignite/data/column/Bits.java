package io.tensorflowignite.data.column;

import org.apache.arrow.memory.ArrowBuf;

/** Buffers of a bit for each value, least significant first. */
final class Bits {
  private Bits() {}

  static long bytes(int count) {
    return (count + 7L) >>> 3;
  }

  /** Sets a bit behind which none counts. */
  static void set(GrowingBuffer bits, int index, boolean value) {
    long at = index >>> 3;
    int shift = index & 7;
    ArrowBuf to = bits.require(at + 1);
    int bit = (value ? 1 : 0) << shift;
    // What stands behind is what the memory held, or a row that was taken back.
    to.setByte(at, shift == 0 ? bit : to.getByte(at) & ((1 << shift) - 1) | bit);
  }

  static boolean get(GrowingBuffer bits, int index) {
    long at = index >>> 3;
    return (bits.require(at + 1).getByte(at) >>> (index & 7) & 1) != 0;
  }
}
