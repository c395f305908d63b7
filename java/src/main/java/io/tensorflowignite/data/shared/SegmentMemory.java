package io.tensorflowignite.data.shared;

import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.IgniteInterruptedException;

/**
 * What the columns of a batch are laid into: pieces of one segment, side by side, and ordinary
 * memory for what does not fit any more. The segment is taken when the first piece is asked for,
 * which may wait.
 */
public final class SegmentMemory implements AllocationManager.Factory {
  /** Where a column starts, so that TensorFlow and Arrow take it as it is. */
  public static final int ALIGNMENT = 64;

  private final BufferAllocator ordinary;
  private final SegmentOffers offers;
  private MappedSegment segment;
  private long smallest;
  private long end;

  public SegmentMemory(BufferAllocator ordinary, SegmentOffers offers) {
    this.ordinary = ordinary;
    this.offers = offers;
  }

  /** An allocator over this memory. */
  public BufferAllocator allocator() {
    return new RootAllocator(
        RootAllocator.configBuilder()
            .allocationManagerFactory(this)
            .roundingPolicy(SegmentMemory::aligned)
            .build());
  }

  public static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** The segment that is being filled; it waits for one where there is none. */
  public MappedSegment segment() throws InterruptedException {
    if (segment == null) {
      segment = offers.take(smallest);
      end = 0;
    }
    return segment;
  }

  /**
   * Segments hold at least so many bytes from now on.
   *
   * @return the one that is too small; what lies in it lives until the caller releases it
   */
  public MappedSegment exchange(long bytes) {
    MappedSegment outgrown = segment;
    smallest = bytes;
    segment = null;
    return outgrown;
  }

  /** The segment is full, and the reader's. */
  public void next() {
    if (segment.once()) {
      offers.release(segment);
    }
    segment = null;
  }

  /** How far into the segment pieces have been handed out. */
  public long end() {
    return end;
  }

  @Override
  public AllocationManager create(BufferAllocator accounting, long size) {
    try {
      MappedSegment current = segment();
      if (size > current.bytes() - end) {
        return new Elsewhere(accounting, ordinary.buffer(size));
      }
      Piece piece = new Piece(accounting, current.address() + end, size);
      end += aligned(size);
      return piece;
    } catch (InterruptedException interrupted) {
      throw new IgniteInterruptedException(interrupted);
    }
  }

  @Override
  public ArrowBuf empty() {
    return ordinary.getEmpty();
  }

  /** Lives as long as its segment. */
  private static final class Piece extends AllocationManager {
    private final long address;
    private final long size;

    Piece(BufferAllocator accounting, long address, long size) {
      super(accounting);
      this.address = address;
      this.size = size;
    }

    @Override
    public long getSize() {
      return size;
    }

    @Override
    protected long memoryAddress() {
      return address;
    }

    @Override
    protected void release0() {
      // The segment goes back as a whole.
    }
  }

  private static final class Elsewhere extends AllocationManager {
    private final ArrowBuf buffer;

    Elsewhere(BufferAllocator accounting, ArrowBuf buffer) {
      super(accounting);
      this.buffer = buffer;
    }

    @Override
    public long getSize() {
      return buffer.capacity();
    }

    @Override
    protected long memoryAddress() {
      return buffer.memoryAddress();
    }

    @Override
    protected void release0() {
      buffer.close();
    }
  }
}
