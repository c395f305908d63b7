package io.tensorflowignite.storage.block;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import java.util.function.Predicate;

/**
 * The blocks that one call asks for, one after another: whoever sends them has at most two in
 * memory, one that is on its way and the next.
 */
public final class BlockDownload {
  private final Blocks blocks;
  private final LentMemories memories;
  private final Predicate<String> needed;
  private final ReadBlocksRequest request;
  private int sent;

  /**
   * @param memories what processes of this host share
   * @param needed whether an extent is of a file or of a writer; asked only for a block that is not
   *     there
   */
  public BlockDownload(
      Blocks blocks, LentMemories memories, Predicate<String> needed, ReadBlocksRequest request) {
    this.blocks = blocks;
    this.memories = memories;
    this.needed = needed;
    this.request = request;
    if (request.getOffset() < 0
        || request.getBytes() < 0
        || (request.getNumbersCount() != 1
            && (request.getOffset() > 0 || request.getBytes() > 0 || request.hasPlace()))
        || request.getNumbersList().stream().anyMatch(number -> number < 0)) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "%d blocks of extent %s cannot be read from offset %d on, %d bytes of them. A part,"
                  + " or what is laid into memory, is of one block only; numbers, offsets and bytes"
                  + " are not below 0. Correct the request.",
              request.getNumbersCount(),
              request.getExtentId(),
              request.getOffset(),
              request.getBytes()));
    }
  }

  /** The next block, or the part of it; null: that was all. A part behind the end is empty. */
  public ReadBlocksResponse next() {
    return sent < request.getNumbersCount() ? part(request.getNumbers(sent++)) : null;
  }

  private ReadBlocksResponse part(int number) {
    Block block = blocks.get(request.getExtentId(), number, needed);
    int from = Math.min(request.getOffset(), block.size());
    int rest = block.size() - from;
    int count = request.getBytes() == 0 ? rest : Math.min(request.getBytes(), rest);
    return request.hasPlace()
        ? laid(block, number, from, count)
        : ReadBlocksResponse.newBuilder()
            .setNumber(number)
            .setData(block.data(from, count))
            .setChecksum(block.checksum(from, count))
            .build();
  }

  private ReadBlocksResponse laid(Block block, int number, int from, int count) {
    int room = request.getPlace().getBytes();
    if (count > room) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "%,d bytes of block %d of extent %s do not fit into the %,d bytes of memory that the"
                  + " call names. Ask for fewer, or name a larger place.",
              count, number, request.getExtentId(), room));
    }
    memories.use(request.getPlace(), place -> block.copyTo(place, from, count));
    return ReadBlocksResponse.newBuilder().setNumber(number).setLaidBytes(count).build();
  }
}
