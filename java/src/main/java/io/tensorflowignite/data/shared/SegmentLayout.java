package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BlockMemory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.MemoryUtil;

/**
 * Where the buffers of one batch lie in its segment. Most were written there; the others are moved
 * in.
 */
final class SegmentLayout {
  private final List<ArrowBuf> buffers;
  private final long[] offsets;

  private SegmentLayout(List<ArrowBuf> buffers) {
    this.buffers = buffers;
    this.offsets = new long[buffers.size()];
  }

  /** What a segment must hold at least to hold these buffers. */
  static long bytes(List<ArrowBuf> buffers) {
    return buffers.stream().mapToLong(buffer -> BlockMemory.aligned(buffer.readableBytes())).sum();
  }

  /**
   * Has every buffer in the segment, which must be large enough.
   *
   * @param end how far into the segment buffers may lie already
   */
  static SegmentLayout of(List<ArrowBuf> buffers, MappedSegment segment, long end) {
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
      layout.moveIn(inside, outside, segment, end);
    }
    return layout;
  }

  int size() {
    return offsets.length;
  }

  long offset(int index) {
    return offsets[index];
  }

  long bytes(int index) {
    return buffers.get(index).readableBytes();
  }

  private void moveIn(
      List<Integer> inside, List<Integer> outside, MappedSegment segment, long end) {
    long missing = outside.stream().mapToLong(i -> BlockMemory.aligned(bytes(i))).sum();
    long at = end;
    if (missing > segment.bytes() - end) {
      // Outgrown pieces lie between those that count: close the gaps, from the front.
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

  /** Returns where the next one may lie. */
  private long move(int index, MappedSegment segment, long to) {
    long from = segment.address() + offsets[index];
    if (offsets[index] != to) {
      MemoryUtil.copyMemory(from, segment.address() + to, bytes(index));
      offsets[index] = to;
    }
    return to + BlockMemory.aligned(bytes(index));
  }
}
