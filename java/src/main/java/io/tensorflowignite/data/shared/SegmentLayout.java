package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BatchArena;
import io.tensorflowignite.v1.BatchBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Lays the buffers of one batch out in its segment. Most buffers were written there; the other
 * buffers are copied into it.
 */
final class SegmentLayout {
  private final List<ArrowBuf> buffers;
  private final long[] offsets;

  private SegmentLayout(List<ArrowBuf> buffers) {
    this.buffers = buffers;
    this.offsets = new long[buffers.size()];
  }

  /** Size of the smallest segment that holds these buffers, in bytes. */
  static long bytes(List<ArrowBuf> buffers) {
    return buffers.stream().mapToLong(buffer -> BatchArena.aligned(buffer.readableBytes())).sum();
  }

  /**
   * Copies buffers from outside into the segment, which must be large enough.
   *
   * @param end offset after the last buffer that lies in the segment already
   * @return the buffers' positions in the segment
   */
  static List<BatchBuffer> of(List<ArrowBuf> buffers, MappedSegment segment, long end) {
    SegmentLayout layout = new SegmentLayout(buffers);
    List<Integer> inside = new ArrayList<>();
    List<Integer> outside = new ArrayList<>();
    for (int i = 0; i < buffers.size(); i++) {
      ArrowBuf buffer = buffers.get(i);
      if (buffer.readableBytes() > 0) {
        long offset = buffer.memoryAddress() - segment.address();
        layout.offsets[i] = offset;
        (offset >= 0 && offset < segment.bytes() ? inside : outside).add(i);
      }
    }
    if (!outside.isEmpty()) {
      layout.copyIn(inside, outside, segment, end);
    }
    List<BatchBuffer> positions = new ArrayList<>();
    for (int i = 0; i < buffers.size(); i++) {
      positions.add(
          BatchBuffer.newBuilder().setOffset(layout.offsets[i]).setBytes(layout.bytes(i)).build());
    }
    return positions;
  }

  private long bytes(int index) {
    return buffers.get(index).readableBytes();
  }

  private void copyIn(
      List<Integer> inside, List<Integer> outside, MappedSegment segment, long end) {
    long missing = outside.stream().mapToLong(i -> BatchArena.aligned(bytes(i))).sum();
    long at = end;
    if (missing > segment.bytes() - end) {
      // Close the gaps of abandoned pieces, from the front.
      at = 0;
      inside.sort(Comparator.comparingLong(i -> offsets[i]));
      for (int i : inside) {
        at = move(i, segment, at);
      }
    }
    for (int i : outside) {
      at = move(i, segment, at);
    }
  }

  /** Returns the offset of the next buffer. */
  private long move(int index, MappedSegment segment, long to) {
    long from = segment.address() + offsets[index];
    if (offsets[index] != to) {
      MemoryUtil.copyMemory(from, segment.address() + to, bytes(index));
      offsets[index] = to;
    }
    return to + BatchArena.aligned(bytes(index));
  }
}
