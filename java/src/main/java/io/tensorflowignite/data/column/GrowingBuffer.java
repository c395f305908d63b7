package io.tensorflowignite.data.column;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * One buffer of a column under construction. It grows by doubling, which copies its content. To
 * avoid copies, a batch's buffer starts a little larger than the previous batch's became, and the
 * first one with the expected size. It may have values of any width, bits (the least significant
 * one of each byte first), or offsets: the ends of values that vary in length, as 32-bit numbers.
 */
final class GrowingBuffer {
  /** Bytes of an offset. */
  static final int OFFSET = 4;

  private static final long SMALLEST = 4096;

  /** A buffer starts larger than the previous one by 1 / SLACK, since lengths of values vary. */
  private static final long SLACK = 16;

  private final BufferAllocator allocator;
  private ArrowBuf buffer;
  private ByteBuffer view;
  private long hint;

  /**
   * @param expected size of the first batch's buffer, in bytes; 0: not known
   */
  GrowingBuffer(BufferAllocator allocator, long expected) {
    this.allocator = allocator;
    hint = Math.max(SMALLEST, expected);
  }

  /** The buffer, with a capacity of at least {@code bytes}. */
  ArrowBuf require(long bytes) {
    if (buffer == null) {
      buffer = allocator.buffer(Math.max(bytes, hint));
      view = null;
    } else if (buffer.capacity() < bytes) {
      ArrowBuf larger = allocator.buffer(Math.max(bytes, 2 * buffer.capacity()));
      larger.setBytes(0, buffer, 0, buffer.capacity());
      buffer.close();
      buffer = larger;
      view = null;
    }
    return buffer;
  }

  /** At least {@code bytes} of the buffer from a position on, in Arrow's byte order. */
  ByteBuffer requireView(long position, long bytes) {
    require(position + bytes);
    if (view == null) {
      int size = (int) Math.min(buffer.capacity(), Integer.MAX_VALUE);
      view = buffer.nioBuffer(0, size).order(ByteOrder.LITTLE_ENDIAN);
    }
    view.position((int) position);
    return view;
  }

  /** Returns the buffer with {@code bytes} bytes of content; the caller owns it. */
  ArrowBuf take(long bytes) {
    if (bytes == 0) {
      clear();
      return allocator.getEmpty();
    }
    ArrowBuf taken = buffer;
    taken.writerIndex(bytes);
    buffer = null;
    view = null;
    hint = Math.max(SMALLEST, bytes + bytes / SLACK);
    return taken;
  }

  void clear() {
    if (buffer != null) {
      buffer.close();
      buffer = null;
      view = null;
    }
  }

  static long bytesOfBits(int count) {
    return (count + 7L) >>> 3;
  }

  /** Sets a bit. The bits after it in its byte become zero: they are left over from old values. */
  void setBit(int index, boolean value) {
    long at = index >>> 3;
    int shift = index & 7;
    ArrowBuf to = require(at + 1);
    int bit = (value ? 1 : 0) << shift;
    to.setByte(at, shift == 0 ? bit : to.getByte(at) & ((1 << shift) - 1) | bit);
  }

  boolean bit(int index) {
    long at = index >>> 3;
    return (require(at + 1).getByte(at) >>> (index & 7) & 1) != 0;
  }

  /** Stores the end of the value with an index. */
  void putEnd(int index, long end) {
    long at = (index + 1L) * OFFSET;
    ArrowBuf to = require(at + OFFSET);
    if (index == 0) {
      to.setInt(0, 0);
    }
    to.setInt(at, (int) end);
  }

  /** The start of the value with an index, which is the end of the value before it. */
  int start(int index) {
    return index == 0 ? 0 : require((index + 1L) * OFFSET).getInt((long) index * OFFSET);
  }

  /** As {@link #take}: one offset more than values. */
  ArrowBuf takeOffsets(int values) {
    if (values == 0) {
      require(OFFSET).setInt(0, 0);
    }
    return take((values + 1L) * OFFSET);
  }
}
