package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BlockMemory;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.Segment;

/**
 * A segment that a reader offers, mapped. The thread that writes into it is the one that closes it.
 */
final class MappedSegment implements BlockMemory.Block, AutoCloseable {
  private final int id;
  private final boolean once;
  private final MappedMemory memory;

  private MappedSegment(Segment offer, MappedMemory memory) {
    this.id = offer.getId();
    this.once = offer.getOnce();
    this.memory = memory;
  }

  /**
   * Maps what a process offers.
   *
   * @param nonce what the memory begins with, if it is that of the process meant
   */
  static MappedSegment open(int pid, byte[] nonce, Segment offer) {
    return new MappedSegment(offer, MappedMemory.open(pid, offer.getFd(), offer.getBytes(), nonce));
  }

  int id() {
    return id;
  }

  /** Filled once, it is not offered again. */
  boolean once() {
    return once;
  }

  @Override
  public long address() {
    return memory.address();
  }

  @Override
  public long bytes() {
    return memory.bytes();
  }

  @Override
  public void close() {
    memory.close();
  }
}
