package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CORRUPT;

import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.storage.block.SharedMemoryRegistry;
import io.tensorflowignite.v1.MemoryRange;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.PutBlocksResponse;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/** Stores the blocks of one call in order, each before the next is accepted. */
public final class BlockUpload implements StreamObserver<PutBlocksRequest> {
  /** How long a writer's record is cached. */
  private static final long CACHED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Blocks blocks;
  private final SharedMemoryRegistry memories;
  private final Function<String, PendingExtent> pending;
  private final StreamObserver<PutBlocksResponse> response;
  private String extent = "";
  private PendingExtent writer;
  private long readAt;
  private boolean failed;

  /**
   * @param memories memory that processes of this host share
   * @param pending returns the record of a pending extent; null: the extent is not pending
   */
  public BlockUpload(
      Blocks blocks,
      SharedMemoryRegistry memories,
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
      // This message was already on its way when the call failed.
      return;
    }
    failed = true;
    validate(request);
    Block block = request.hasRange() ? shared(request.getRange()) : sent(request);
    if (block.size() == writer.getWrite().getBlockBytes()) {
      blocks.put(extent, request.getNumber(), block);
    } else {
      blocks.grow(extent, request.getNumber(), block);
    }
    failed = false;
  }

  /** A block in shared memory, which needs no check of its checksum. */
  private Block shared(MemoryRange range) {
    AtomicReference<Block> block = new AtomicReference<>();
    memories.use(range, data -> block.set(Block.of(data)));
    return block.get();
  }

  private Block sent(PutBlocksRequest request) {
    Block block = Block.of(request.getData());
    if (block.checksum() != request.getChecksum()) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_FILE_CORRUPT,
          String.format(
              "Block %d of extent %s was sent with checksum %08x, but its %,d bytes have %08x. A"
                  + " block must arrive undamaged. Send the block again.",
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

  /** Throws unless the block belongs to an active writer, which has reserved it. */
  private void validate(PutBlocksRequest request) {
    boolean cached =
        extent.equals(request.getExtentId()) && System.nanoTime() - readAt < CACHED_NANOS;
    if (!cached || request.getNumber() >= writer.getBlocks()) {
      extent = request.getExtentId();
      readAt = System.nanoTime();
      writer = pending.apply(extent);
      if (writer == null || !writer.hasWrite()) {
        throw new TensorFlowIgniteException(
            ERROR_CODE_FILE_CHANGED,
            String.format(
                "Block %d of extent %s has no active writer. A writer ends when it publishes the"
                    + " last time, is abandoned, or gives no sign of life for"
                    + " storage.writerTimeoutSeconds. Write the file again.",
                request.getNumber(), extent));
      }
    }
    int limit = writer.getWrite().getBlockBytes();
    int bytes = request.hasRange() ? request.getRange().getBytes() : request.getData().size();
    if (request.getNumber() < 0 || request.getNumber() >= writer.getBlocks()) {
      throw invalidRequest(
          "Block %d of extent %s is not reserved: its writer has reserved %d blocks, from"
              + " number 0. Reserve blocks before they are put.",
          request.getNumber(), extent, writer.getBlocks());
    }
    if (bytes == 0 || bytes > limit) {
      throw invalidRequest(
          "Block %d of extent %s has %,d bytes. A block of this extent has 1 to %,d. Split the"
              + " file into such blocks.",
          request.getNumber(), extent, bytes, limit);
    }
  }
}
