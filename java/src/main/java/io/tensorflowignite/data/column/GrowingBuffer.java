package io.tensorflowignite.data.column;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * One buffer of a column under construction. It grows by doubling; the next batch's buffer starts
 * with a little more than the last one needed, so that after the first batch hardly anything is
 * copied; nor in the first, where it is known what that will need.
 */
final class GrowingBuffer {
  private static final long SMALLEST = 4096;

  /** Values that differ in length fill a batch by so small a part more, or less, than the last. */
  private static final long SLACK = 16;

  private final BufferAllocator allocator;
  private ArrowBuf buffer;
  private ByteBuffer view;
  private long hint;

  /**
   * @param expected what the first batch will need, in bytes; 0 when that is not known
   */
  GrowingBuffer(BufferAllocator allocator, long expected) {
    this.allocator = allocator;
    hint = Math.max(SMALLEST, expected);
  }

  /** The buffer, with room for at least so many bytes. */
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

  /**
   * The buffer's bytes from a position on, in Arrow's byte order, with room for at least so many.
   */
  ByteBuffer requireView(long position, long bytes) {
    require(position + bytes);
    if (view == null) {
      int size = (int) Math.min(buffer.capacity(), Integer.MAX_VALUE);
      view = buffer.nioBuffer(0, size).order(ByteOrder.LITTLE_ENDIAN);
    }
    view.position((int) position);
    return view;
  }

  /** Hands the buffer over, with so many bytes in it. */
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
}
