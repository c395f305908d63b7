package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BlockMemory;
import org.apache.arrow.memory.BufferAllocator;

/**
 * The columns of a batch lie in a segment. It is taken when the first piece is asked for, which may
 * wait.
 */
final class SegmentMemory extends BlockMemory {
  private final SegmentOffers offers;
  private MappedSegment segment;
  private long smallest;

  SegmentMemory(BufferAllocator ordinary, SegmentOffers offers) {
    super(ordinary);
    this.offers = offers;
  }

  @Override
  protected MappedSegment block() throws InterruptedException {
    if (segment == null) {
      segment = offers.take(smallest);
      startAgain();
    }
    return segment;
  }

  /**
   * Segments hold at least so many bytes from now on.
   *
   * @return the one that is too small; what lies in it lives until the caller releases it
   */
  MappedSegment exchange(long bytes) {
    MappedSegment outgrown = segment;
    smallest = bytes;
    segment = null;
    return outgrown;
  }

  /** The segment is full, and the reader's. */
  void next() {
    if (segment.once()) {
      offers.release(segment);
    }
    segment = null;
  }
}
