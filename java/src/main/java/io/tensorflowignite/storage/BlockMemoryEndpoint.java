package io.tensorflowignite.storage;

import com.google.protobuf.ByteString;
import io.grpc.BindableService;
import io.grpc.ServerInterceptors;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.api.Connections;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.memory.OwnHostOnly;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.block.LentMemories;
import io.tensorflowignite.v1.BlockMemoryGrpc;
import io.tensorflowignite.v1.ShareMemoryRequest;
import io.tensorflowignite.v1.ShareMemoryResponse;
import io.tensorflowignite.v1.UnshareMemoryRequest;
import io.tensorflowignite.v1.UnshareMemoryResponse;

/** Lets processes on this host share memory for blocks with the node. */
public final class BlockMemoryEndpoint extends BlockMemoryGrpc.BlockMemoryImplBase {
  private final LentMemories memories;
  private final Guard guard;

  private BlockMemoryEndpoint(LentMemories memories, Guard guard) {
    this.memories = memories;
    this.guard = guard;
  }

  /**
   * @param memories where the shared memory goes
   * @param guard judges each call
   */
  public static BindableService of(LentMemories memories, Guard guard) {
    BlockMemoryEndpoint endpoint = new BlockMemoryEndpoint(memories, guard);
    return () -> ServerInterceptors.intercept(endpoint, new OwnHostOnly());
  }

  @Override
  public void share(ShareMemoryRequest request, StreamObserver<ShareMemoryResponse> response) {
    guard.readBlocks();
    MappedMemory.requireNonce(request.getNonce());
    ByteString name =
        memories.add(
            MappedMemory.open(
                request.getPid(),
                request.getFd(),
                request.getBytes(),
                request.getNonce().toByteArray()));
    Connections.current().atEnd(name, () -> memories.remove(name));
    response.onNext(ShareMemoryResponse.newBuilder().setMemory(name).build());
    response.onCompleted();
  }

  @Override
  public void unshare(
      UnshareMemoryRequest request, StreamObserver<UnshareMemoryResponse> response) {
    guard.readBlocks();
    Connections.current().endNow(request.getMemory());
    response.onNext(UnshareMemoryResponse.getDefaultInstance());
    response.onCompleted();
  }
}
