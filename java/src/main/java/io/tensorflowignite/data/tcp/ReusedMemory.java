package io.tensorflowignite.data.tcp;

import io.tensorflowignite.data.column.BlockMemory;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * One block that every batch of a stream is laid into, as large as the largest has been: memory
 * that was just written is still in the processor's caches, and new memory is made of zeros first.
 */
final class ReusedMemory extends BlockMemory implements AutoCloseable {
  /** The next batch may be larger by so small a part. */
  private static final long SLACK = 8;

  private ArrowBuf memory;
  private Block block = new Of(0, 0);

  ReusedMemory(BufferAllocator ordinary) {
    super(ordinary);
  }

  @Override
  protected Block block() {
    return block;
  }

  /**
   * The batch that was laid here is gone, and the next begins.
   *
   * @param bytes what it took
   */
  void next(long bytes) {
    startAgain();
    if (bytes > block.bytes()) {
      close();
      long wanted = aligned(bytes + bytes / SLACK);
      memory = ordinary().buffer(wanted);
      block = new Of(memory.memoryAddress(), wanted);
    }
  }

  @Override
  public void close() {
    block = new Of(0, 0);
    if (memory != null) {
      memory.close();
      memory = null;
    }
  }

  private static final class Of implements Block {
    private final long address;
    private final long bytes;

    Of(long address, long bytes) {
      this.address = address;
      this.bytes = bytes;
    }

    @Override
    public long address() {
      return address;
    }

    @Override
    public long bytes() {
      return bytes;
    }
  }
}
