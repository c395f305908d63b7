package io.tensorflowignite.storage.block;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import java.util.function.Predicate;

/** The blocks that one call requests, one after another. It keeps none of them in memory. */
public final class BlockDownload {
  /** The usual size of a block. */
  private static final int BLOCK_BYTES = 2 << 20;

  private final Blocks blocks;
  private final SharedMemoryRegistry memories;
  private final Predicate<String> needed;
  private final ReadBlocksRequest request;
  private int sent;

  /**
   * @param memories the memory that processes of this host share
   * @param needed whether an extent belongs to a file or a writer; called only for a missing block
   */
  public BlockDownload(
      Blocks blocks,
      SharedMemoryRegistry memories,
      Predicate<String> needed,
      ReadBlocksRequest request) {
    this.blocks = blocks;
    this.memories = memories;
    this.needed = needed;
    this.request = request;
    if (request.getOffset() < 0
        || request.getBytes() < 0
        || (request.getNumbersCount() != 1
            && (request.getOffset() > 0 || request.getBytes() > 0 || request.hasRange()))
        || request.getNumbersList().stream().anyMatch(number -> number < 0)) {
      throw invalidRequest(
          "%d blocks of extent %s cannot be read from offset %d, %d bytes. A part of a block,"
              + " or a copy into shared memory, is for one block only; numbers, offsets and"
              + " bytes are 0 or more. Send one request for each block, without negative"
              + " values.",
          request.getNumbersCount(),
          request.getExtentId(),
          request.getOffset(),
          request.getBytes());
    }
  }

  /** The size of a message; of a whole block the usual one. Blocks in shared memory need none. */
  public long messageBytes() {
    int bytes = request.getBytes() == 0 ? BLOCK_BYTES : Math.min(request.getBytes(), BLOCK_BYTES);
    return request.hasRange() ? 0 : bytes;
  }

  public boolean hasNext() {
    return sent < request.getNumbersCount();
  }

  /**
   * The next block, or the requested part of it; null after the last one. A part behind the end is
   * empty.
   */
  public ReadBlocksResponse next() {
    return hasNext() ? part(request.getNumbers(sent++)) : null;
  }

  private ReadBlocksResponse part(int number) {
    Block block = blocks.get(request.getExtentId(), number, needed);
    int from = Math.min(request.getOffset(), block.size());
    int rest = block.size() - from;
    int count = request.getBytes() == 0 ? rest : Math.min(request.getBytes(), rest);
    return request.hasRange()
        ? shared(block, number, from, count)
        : ReadBlocksResponse.newBuilder()
            .setNumber(number)
            .setData(block.data(from, count))
            .setChecksum(block.checksum(from, count))
            .build();
  }

  private ReadBlocksResponse shared(Block block, int number, int from, int count) {
    int limit = request.getRange().getBytes();
    if (count > limit) {
      throw invalidRequest(
          "%,d bytes of block %d of extent %s do not fit into the %,d bytes of memory that the"
              + " call names. The memory must hold all requested bytes. Request fewer bytes, or"
              + " name a larger range.",
          count, number, request.getExtentId(), limit);
    }
    memories.use(request.getRange(), target -> block.copyTo(target, from, count));
    return ReadBlocksResponse.newBuilder().setNumber(number).setWrittenBytes(count).build();
  }
}
