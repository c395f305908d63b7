package io.tensorflowignite.data.tcp;

import io.tensorflowignite.data.column.BatchArena;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Memory for columns in one block, which all batches of a stream reuse and which grows with them.
 * Reused memory is still in the processor's caches, and the kernel need not zero it first.
 */
public final class ReusedArena extends BatchArena implements AutoCloseable {
  /** The block grows to the batch's size and a further 1 / SLACK. */
  private static final long SLACK = 8;

  private static final Block NONE = new Block(0, 0);

  private ArrowBuf memory;
  private Block block = NONE;

  public ReusedArena(BufferAllocator ordinary) {
    super(ordinary);
  }

  @Override
  protected Block block() {
    return block;
  }

  /**
   * Starts the next batch; the previous one must have been sent.
   *
   * @param bytes size of the previous batch
   */
  void next(long bytes) {
    reset();
    if (bytes > block.bytes()) {
      close();
      long size = aligned(bytes + bytes / SLACK);
      memory = ordinary().buffer(size);
      block = new Block(memory.memoryAddress(), size);
    }
  }

  @Override
  public void close() {
    block = NONE;
    if (memory != null) {
      memory.close();
      memory = null;
    }
  }
}
