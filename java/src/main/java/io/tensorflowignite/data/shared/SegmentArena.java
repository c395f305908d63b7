package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BatchArena;
import org.apache.arrow.memory.BufferAllocator;

/** Memory for columns in a segment, which is taken with the first piece; that call may wait. */
public final class SegmentArena extends BatchArena {
  private final SegmentQueue offers;
  private MappedSegment segment;
  private long smallest;

  public SegmentArena(BufferAllocator ordinary, SegmentQueue offers) {
    super(ordinary);
    this.offers = offers;
  }

  @Override
  protected MappedSegment block() throws InterruptedException {
    if (segment == null) {
      segment = offers.take(smallest);
      reset();
    }
    return segment;
  }

  /**
   * Requires segments of at least {@code bytes} from now on.
   *
   * @return the current segment, which is too small; the caller releases it
   */
  MappedSegment exchange(long bytes) {
    MappedSegment tooSmall = segment;
    smallest = bytes;
    segment = null;
    return tooSmall;
  }

  /** Leaves the segment, which is filled, to the reader. */
  void next() {
    if (segment.once) {
      offers.release(segment);
    }
    segment = null;
  }
}
