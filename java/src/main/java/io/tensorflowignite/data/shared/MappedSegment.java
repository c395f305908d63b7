package io.tensorflowignite.data.shared;

import io.tensorflowignite.data.column.BatchArena;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.v1.Segment;

/** A mapped segment of a reader. The thread that writes into the segment closes it. */
final class MappedSegment extends BatchArena.Block implements AutoCloseable {
  final int id;

  /** Whether the reader offers this segment only once. */
  final boolean once;

  private final MappedMemory memory;

  private MappedSegment(Segment offer, MappedMemory memory) {
    super(memory.address(), memory.bytes());
    this.id = offer.getId();
    this.once = offer.getOnce();
    this.memory = memory;
  }

  /**
   * Maps a segment that a process offers.
   *
   * @param nonce the first bytes of the memory, which prove that the process owns it
   */
  static MappedSegment open(int pid, byte[] nonce, Segment offer) {
    return new MappedSegment(offer, MappedMemory.open(pid, offer.getFd(), offer.getBytes(), nonce));
  }

  @Override
  public void close() {
    memory.close();
  }
}
