package io.tensorflowignite.data.column;

import org.apache.arrow.memory.ArrowBuf;

/** Buffers with one bit for each value, the least significant bit first. */
final class BitBuffers {
  private BitBuffers() {}

  static long bytes(int count) {
    return (count + 7L) >>> 3;
  }

  /** Sets a bit. The bits after it in its byte become zero: they are left over from old values. */
  static void set(GrowingBuffer bits, int index, boolean value) {
    long at = index >>> 3;
    int shift = index & 7;
    ArrowBuf to = bits.require(at + 1);
    int bit = (value ? 1 : 0) << shift;

    to.setByte(at, shift == 0 ? bit : to.getByte(at) & ((1 << shift) - 1) | bit);
  }

  static boolean get(GrowingBuffer bits, int index) {
    long at = index >>> 3;
    return (bits.require(at + 1).getByte(at) >>> (index & 7) & 1) != 0;
  }
}
