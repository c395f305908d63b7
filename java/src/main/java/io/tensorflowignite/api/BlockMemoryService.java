package io.tensorflowignite.api;

import com.google.protobuf.ByteString;
import io.grpc.BindableService;
import io.grpc.ServerInterceptors;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.memory.MappedMemory;
import io.tensorflowignite.rpc.ConnectionTracker;
import io.tensorflowignite.rpc.LocalHostInterceptor;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.block.SharedMemoryRegistry;
import io.tensorflowignite.v1.BlockMemoryServiceGrpc;
import io.tensorflowignite.v1.ShareMemoryRequest;
import io.tensorflowignite.v1.ShareMemoryResponse;
import io.tensorflowignite.v1.UnshareMemoryRequest;
import io.tensorflowignite.v1.UnshareMemoryResponse;

/** Accepts shared memory of processes on this host, for reading and writing blocks. */
public final class BlockMemoryService extends BlockMemoryServiceGrpc.BlockMemoryServiceImplBase {
  private final SharedMemoryRegistry memories;
  private final Guard guard;

  private BlockMemoryService(SharedMemoryRegistry memories, Guard guard) {
    this.memories = memories;
    this.guard = guard;
  }

  /**
   * @param memories the registry of shared memory
   * @param guard authorizes each call
   */
  public static BindableService of(SharedMemoryRegistry memories, Guard guard) {
    BlockMemoryService service = new BlockMemoryService(memories, guard);
    return () -> ServerInterceptors.intercept(service, new LocalHostInterceptor());
  }

  @Override
  public void shareMemory(
      ShareMemoryRequest request, StreamObserver<ShareMemoryResponse> response) {
    guard.readBlocks();
    MappedMemory.requireNonce(request.getNonce());
    ByteString name =
        memories.add(
            MappedMemory.open(
                request.getPid(),
                request.getFd(),
                request.getBytes(),
                request.getNonce().toByteArray()));
    ConnectionTracker.current().onEnd(name, () -> memories.remove(name));
    response.onNext(ShareMemoryResponse.newBuilder().setMemory(name).build());
    response.onCompleted();
  }

  @Override
  public void unshareMemory(
      UnshareMemoryRequest request, StreamObserver<UnshareMemoryResponse> response) {
    guard.readBlocks();
    ConnectionTracker.current().runNow(request.getMemory());
    response.onNext(UnshareMemoryResponse.getDefaultInstance());
    response.onCompleted();
  }
}
