package io.tensorflowignite.data.column;

import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.IgniteInterruptedException;

/**
 * What the columns of a batch are laid into: pieces of one block, side by side, and ordinary memory
 * for what does not fit any more. One thread uses it, for one batch after the other.
 */
public abstract class BlockMemory implements AllocationManager.Factory {
  /** Where a column starts, so that TensorFlow and Arrow take it as it is. */
  public static final int ALIGNMENT = 64;

  private final BufferAllocator ordinary;
  private long end;

  protected BlockMemory(BufferAllocator ordinary) {
    this.ordinary = ordinary;
  }

  /** The block that is being filled; it may wait for one. */
  protected abstract Block block() throws InterruptedException;

  /** An allocator over this memory. */
  public BufferAllocator allocator() {
    return new RootAllocator(
        RootAllocator.configBuilder()
            .allocationManagerFactory(this)
            .roundingPolicy(BlockMemory::aligned)
            .build());
  }

  public static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** How far into the block pieces have been handed out. */
  public long end() {
    return end;
  }

  /** The next batch begins, at the start of a block. */
  protected void startAgain() {
    end = 0;
  }

  protected BufferAllocator ordinary() {
    return ordinary;
  }

  @Override
  public AllocationManager create(BufferAllocator accounting, long size) {
    try {
      Block block = block();
      if (size > block.bytes() - end) {
        return new Elsewhere(accounting, ordinary.buffer(size));
      }
      Piece piece = new Piece(accounting, block.address() + end, size);
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

  /** Memory that outlives its pieces. */
  public interface Block {
    long address();

    long bytes();
  }

  /** Goes back with its block, as a whole. */
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
      // The block's owner does.
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
