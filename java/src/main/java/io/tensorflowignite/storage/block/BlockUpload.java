package io.tensorflowignite.storage.block;

import io.grpc.stub.StreamObserver;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.MemoryPlace;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.PutBlocksResponse;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/** Stores the blocks of one call as they come, each before the next is taken. */
public final class BlockUpload implements StreamObserver<PutBlocksRequest> {
  /** What was known of a writer so long ago is asked for again. */
  private static final long KNOWN_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Blocks blocks;
  private final LentMemories memories;
  private final Function<String, PendingExtent> pending;
  private final StreamObserver<PutBlocksResponse> response;
  private String extent = "";
  private PendingExtent writer;
  private long askedAt;
  private boolean failed;

  /**
   * @param memories what processes of this host share
   * @param pending what is known of an extent that is no whole file's yet; null: nothing
   */
  public BlockUpload(
      Blocks blocks,
      LentMemories memories,
      Function<String, PendingExtent> pending,
      StreamObserver<PutBlocksResponse> response) {
    this.blocks = blocks;
    this.memories = memories;
    this.pending = pending;
    this.response = response;
  }

  @Override
  public void onNext(PutBlocksRequest request) {
    if (failed) {
      // Messages that were under way when the call failed.
      return;
    }
    failed = true;
    admit(request);
    Block block = request.hasPlace() ? taken(request.getPlace()) : sent(request);
    if (block.size() == writer.getWrite().getBlockBytes()) {
      blocks.put(extent, request.getNumber(), block);
    } else {
      blocks.grow(extent, request.getNumber(), block);
    }
    failed = false;
  }

  /** Nothing lies between the memory and here that could damage it. */
  private Block taken(MemoryPlace place) {
    AtomicReference<Block> taken = new AtomicReference<>();
    memories.use(place, data -> taken.set(Block.of(data)));
    return taken.get();
  }

  private Block sent(PutBlocksRequest request) {
    Block block = Block.of(request.getData());
    if (block.checksum() != request.getChecksum()) {
      throw new TensorFlowIgniteException(
          ErrorCode.FILE_CORRUPT,
          String.format(
              "Block %d of extent %s came with checksum %08x, and its %,d bytes have %08x. They"
                  + " were damaged on the way. Send the block again.",
              request.getNumber(), extent, request.getChecksum(), block.size(), block.checksum()));
    }
    return block;
  }

  @Override
  public void onError(Throwable problem) {}

  @Override
  public void onCompleted() {
    if (!failed) {
      response.onNext(PutBlocksResponse.getDefaultInstance());
      response.onCompleted();
    }
  }

  /** Throws unless the block is one of a living writer, of those that it has reserved. */
  private void admit(PutBlocksRequest request) {
    boolean known =
        extent.equals(request.getExtentId()) && System.nanoTime() - askedAt < KNOWN_NANOS;
    if (!known || request.getNumber() >= writer.getBlocks()) {
      extent = request.getExtentId();
      askedAt = System.nanoTime();
      writer = pending.apply(extent);
      if (writer == null || !writer.hasWrite()) {
        throw new TensorFlowIgniteException(
            ErrorCode.FILE_CHANGED,
            String.format(
                "Block %d of extent %s comes from no writer that is known: it has published the"
                    + " last time, was abandoned, or gave no sign of life for the time that the"
                    + " property storageWriterTimeoutSeconds says. Write the file anew.",
                request.getNumber(), extent));
      }
    }
    int limit = writer.getWrite().getBlockBytes();
    int bytes = request.hasPlace() ? request.getPlace().getBytes() : request.getData().size();
    if (request.getNumber() < 0 || request.getNumber() >= writer.getBlocks()) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "Block %d of extent %s is not reserved: its writer has reserved %d blocks, from 0 on."
                  + " Reserve blocks before they are put.",
              request.getNumber(), extent, writer.getBlocks()));
    }
    if (bytes == 0 || bytes > limit) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "Block %d of extent %s has %,d bytes. A block of this extent has 1 to %,d. Split what"
                  + " is written into such blocks.",
              request.getNumber(), extent, bytes, limit));
    }
  }
}
