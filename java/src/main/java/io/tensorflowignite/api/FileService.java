package io.tensorflowignite.api;

import static io.tensorflowignite.v1.FileKind.FILE_KIND_DIRECTORY;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.rpc.ResponseMemory;
import io.tensorflowignite.rpc.StreamSender;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.block.BlockCheck;
import io.tensorflowignite.storage.block.BlockDownload;
import io.tensorflowignite.storage.block.BlockLocations;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.storage.tree.FilePath;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AbandonWriteRequest;
import io.tensorflowignite.v1.AbandonWriteResponse;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.CheckBlocksRequest;
import io.tensorflowignite.v1.CheckBlocksResponse;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.GetFileResponse;
import io.tensorflowignite.v1.GetUsageRequest;
import io.tensorflowignite.v1.GetUsageResponse;
import io.tensorflowignite.v1.ListDirectoryRequest;
import io.tensorflowignite.v1.ListDirectoryResponse;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.MakeDirectoryResponse;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.PublishWriteResponse;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.PutBlocksResponse;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RemoveFileResponse;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.RenameFileResponse;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import io.tensorflowignite.v1.ReserveBlocksResponse;
import io.tensorflowignite.v1.TaskKey;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Supplier;
import org.apache.ignite.Ignite;

public final class FileService extends FileServiceGrpc.FileServiceImplBase {
  /** Records of files take about this times their serialized size, as objects. */
  private static final int OBJECT_FACTOR = 4;

  private final Ignite ignite;
  private final Storage storage;
  private final BlockLocations holders;
  private final Guard guard;
  private final ServedFiles served;

  /**
   * @param guard authorizes each call
   * @param served says which files the nodes need for the models that they serve
   */
  public FileService(
      Ignite ignite, Storage storage, NodeTable nodes, Guard guard, ServedFiles served) {
    this.guard = guard;
    this.served = served;
    this.ignite = ignite;
    this.storage = storage;
    this.holders = new BlockLocations(ignite, storage.caches().blocksName(), nodes);
  }

  @Override
  public void getFile(GetFileRequest request, StreamObserver<GetFileResponse> response) {
    answer(
        response,
        () -> {
          boolean reads = guard.seeFile(FilePath.parse(request.getPath()).toString());
          FileInfo file = storage.tree().get(request.getPath());
          if (!reads && file.getKind() != FILE_KIND_DIRECTORY) {
            guard.readFile(request.getPath());
          }
          GetFileResponse.Builder found = GetFileResponse.newBuilder().setFile(file);
          if (request.getLocate()) {
            for (Extent extent : file.getExtentsList()) {
              found.addHolders(
                  holders.of(
                      extent.getId(),
                      PendingTable.blocks(extent.getBytes(), extent.getBlockBytes())));
            }
          }
          return found.build();
        });
  }

  @Override
  public void listDirectory(
      ListDirectoryRequest request, StreamObserver<ListDirectoryResponse> response) {
    Queue<ListDirectoryResponse> answers = new ArrayDeque<>();
    guard.readFile(FilePath.parse(request.getPath()).toString());
    translateStop(
        () -> {
          storage
              .tree()
              .list(
                  request.getPath(),
                  files ->
                      answers.add(ListDirectoryResponse.newBuilder().addAllFiles(files).build()));
          return null;
        });
    ResponseMemory.keep(
        OBJECT_FACTOR * answers.stream().mapToLong(MessageLite::getSerializedSize).sum());
    StreamSender.send((ServerCallStreamObserver<ListDirectoryResponse>) response, answers::poll);
  }

  @Override
  public void makeDirectory(
      MakeDirectoryRequest request, StreamObserver<MakeDirectoryResponse> response) {
    answer(
        response,
        () -> {
          requireWrite(request.getPath(), request.getTask());
          storage.tree().makeDirectory(request);
          return MakeDirectoryResponse.getDefaultInstance();
        });
  }

  @Override
  public void removeFile(RemoveFileRequest request, StreamObserver<RemoveFileResponse> response) {
    answer(
        response,
        () -> {
          requireWrite(request.getPath(), request.getTask());
          if (request.getRecursive() && isDirectory(request.getPath())) {
            requireWriteBelow(request.getPath(), request.getTask());
          }
          served.requireChange(request.getPath());
          storage.tree().remove(request);
          return RemoveFileResponse.getDefaultInstance();
        });
  }

  @Override
  public void renameFile(RenameFileRequest request, StreamObserver<RenameFileResponse> response) {
    answer(
        response,
        () -> {
          requireWrite(request.getSource(), request.getTask());
          requireWrite(request.getTarget(), request.getTask());
          if (isDirectory(request.getSource())) {
            requireWriteBelow(request.getSource(), request.getTask());
            requireWriteBelow(request.getTarget(), request.getTask());
          }
          served.requireChange(request.getSource());
          served.requireChange(request.getTarget());
          storage.tree().rename(request);
          return RenameFileResponse.getDefaultInstance();
        });
  }

  @Override
  public void getUsage(GetUsageRequest request, StreamObserver<GetUsageResponse> response) {
    guard.readFile(FilePath.parse(request.getPath()).toString());
    answer(response, () -> storage.tree().usage(request.getPath()));
  }

  @Override
  public void beginWrite(BeginWriteRequest request, StreamObserver<BeginWriteResponse> response) {
    requireWrite(request.getPath(), request.getTask());
    served.requireChange(request.getPath());
    answer(response, () -> storage.writers().begin(request));
  }

  @Override
  public void reserveBlocks(
      ReserveBlocksRequest request, StreamObserver<ReserveBlocksResponse> response) {
    answer(
        response,
        () -> {
          String extent = request.getExtentId();
          requireWriter(extent, TaskKey.getDefaultInstance());
          int blocks = storage.writers().reserve(extent, request.getBlocks());
          return ReserveBlocksResponse.newBuilder().setHolders(holders.of(extent, blocks)).build();
        });
  }

  @Override
  public StreamObserver<PutBlocksRequest> putBlocks(StreamObserver<PutBlocksResponse> response) {
    guard.writeBlocks();
    BlockUpload upload =
        new BlockUpload(storage.blocks(), storage.memories(), this::writer, response);
    return new StreamObserver<PutBlocksRequest>() {
      @Override
      public void onNext(PutBlocksRequest block) {
        translateStop(
            () -> {
              upload.onNext(block);
              return null;
            });
      }

      @Override
      public void onError(Throwable problem) {
        upload.onError(problem);
      }

      @Override
      public void onCompleted() {
        upload.onCompleted();
      }
    };
  }

  @Override
  public void readBlocks(ReadBlocksRequest request, StreamObserver<ReadBlocksResponse> response) {
    guard.readBlocks();
    BlockDownload download =
        new BlockDownload(storage.blocks(), storage.memories(), storage::isNeeded, request);
    StreamSender.sendLarge(
        (ServerCallStreamObserver<ReadBlocksResponse>) response,
        download.messageBytes(),
        download::hasNext,
        () -> translateStop(download::next));
  }

  @Override
  public void checkBlocks(
      CheckBlocksRequest request, StreamObserver<CheckBlocksResponse> response) {
    ServerCallStreamObserver<CheckBlocksResponse> call =
        (ServerCallStreamObserver<CheckBlocksResponse>) response;
    guard.checkBlocks();
    BlockCheck check =
        translateStop(
            () ->
                new BlockCheck(
                    ignite, storage.caches(), storage::pendingExtents, call::isCancelled));
    StreamSender.send(call, () -> translateStop(check::next));
  }

  @Override
  public void publishWrite(
      PublishWriteRequest request, StreamObserver<PublishWriteResponse> response) {
    answer(
        response,
        () -> {
          requireWriter(request.getExtentId(), request.getTask());
          if (!request.getPath().isEmpty()) {
            requireWrite(request.getPath(), request.getTask());
            served.requireChange(request.getPath());
          }
          return PublishWriteResponse.newBuilder()
              .setFile(storage.writers().publish(request))
              .build();
        });
  }

  @Override
  public void abandonWrite(
      AbandonWriteRequest request, StreamObserver<AbandonWriteResponse> response) {
    answer(
        response,
        () -> {
          requireWriter(request.getExtentId(), TaskKey.getDefaultInstance());
          storage.writers().abandon(request.getExtentId());
          return AbandonWriteResponse.getDefaultInstance();
        });
  }

  private void requireWrite(String path, TaskKey task) {
    guard.writeFile(FilePath.parse(path).toString(), task);
  }

  private void requireWriteBelow(String path, TaskKey task) {
    guard.writeTree(FilePath.parse(path).toString(), task);
  }

  private boolean isDirectory(String path) {
    return storage.tree().get(path).getKind() == FILE_KIND_DIRECTORY;
  }

  /** Requires the permission to write the file of a pending extent. */
  private void requireWriter(String extent, TaskKey task) {
    PendingExtent pending = storage.pendingTable().get(extent);
    if (pending == null || !pending.hasWrite()) {
      guard.writeBlocks();
    } else {
      requireWrite(pending.getWrite().getPath(), task);
    }
  }

  private PendingExtent writer(String extent) {
    requireWriter(extent, TaskKey.getDefaultInstance());
    return storage.pendingTable().get(extent);
  }

  private static <R> void answer(StreamObserver<R> response, Supplier<R> call) {
    response.onNext(translateStop(call));
    response.onCompleted();
  }

  /** Makes the call; while the node stops, its errors become UNAVAILABLE, so that it is retried. */
  private static <R> R translateStop(Supplier<R> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      if (Causes.isStop(e)) {
        throw Status.UNAVAILABLE
            .withDescription("This node stops. Only running nodes serve files. Call another node.")
            .withCause(e)
            .asRuntimeException();
      }
      throw e;
    }
  }
}
