package io.tensorflowignite.data.column;

import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.ignite.IgniteInterruptedException;

/**
 * Memory for the columns of one batch at a time: pieces of one block, side by side, and ordinary
 * memory for a buffer that does not fit into the rest of the block. Not thread-safe.
 */
public abstract class BatchArena implements AllocationManager.Factory {
  /** Alignment of a buffer, in bytes: TensorFlow and Arrow use aligned buffers without a copy. */
  public static final int ALIGNMENT = 64;

  private final BufferAllocator ordinary;
  private long end;

  protected BatchArena(BufferAllocator ordinary) {
    this.ordinary = ordinary;
  }

  /** The block of the current batch. May wait until a block is free. */
  protected abstract Block block() throws InterruptedException;

  /** An allocator over this memory. */
  public BufferAllocator allocator() {
    return new RootAllocator(
        RootAllocator.configBuilder()
            .allocationManagerFactory(this)
            .roundingPolicy(BatchArena::aligned)
            .build());
  }

  public static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** Offset in the block of the first byte that belongs to no piece. */
  public long end() {
    return end;
  }

  /** Starts the next batch, at the beginning of a block. */
  protected void reset() {
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
        ArrowBuf buffer = ordinary.buffer(size);
        return new Piece(accounting, buffer.memoryAddress(), buffer.capacity(), buffer::close);
      }
      // The block's owner frees the block as a whole.
      Piece piece = new Piece(accounting, block.address() + end, size, () -> {});
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

  /** The address and size of memory that outlives its pieces. */
  public static class Block {
    private final long address;
    private final long bytes;

    public Block(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
    }

    public final long address() {
      return address;
    }

    public final long bytes() {
      return bytes;
    }
  }

  private static final class Piece extends AllocationManager {
    private final long address;
    private final long size;
    private final Runnable release;

    Piece(BufferAllocator accounting, long address, long size, Runnable release) {
      super(accounting);
      this.address = address;
      this.size = size;
      this.release = release;
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
      release.run();
    }
  }
}
