package io.tensorflowignite.storage;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.api.Pump;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.block.BlockCheck;
import io.tensorflowignite.storage.block.BlockDownload;
import io.tensorflowignite.storage.block.BlockUpload;
import io.tensorflowignite.storage.block.Holders;
import io.tensorflowignite.storage.pending.Pendings;
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
import io.tensorflowignite.v1.FileKind;
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
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.util.typedef.X;

/** The file service of a node. */
public final class FileEndpoint extends FileServiceGrpc.FileServiceImplBase {
  private final Ignite ignite;
  private final Storage storage;
  private final Holders holders;
  private final Guard guard;

  /**
   * @param guard judges each call
   */
  public FileEndpoint(Ignite ignite, Storage storage, NodeTable nodes, Guard guard) {
    this.guard = guard;
    this.ignite = ignite;
    this.storage = storage;
    this.holders = new Holders(ignite, storage.caches().blocksName(), nodes);
  }

  @Override
  public void getFile(GetFileRequest request, StreamObserver<GetFileResponse> response) {
    answer(
        response,
        () -> {
          boolean reads = guard.seeFile(FilePath.parse(request.getPath()).toString());
          FileInfo file = storage.tree().get(request.getPath());
          if (!reads && file.getKind() != FileKind.DIRECTORY) {
            guard.readFile(request.getPath());
          }
          GetFileResponse.Builder found = GetFileResponse.newBuilder().setFile(file);
          if (request.getLocate()) {
            for (Extent extent : file.getExtentsList()) {
              found.addHolders(
                  holders.of(
                      extent.getId(), Pendings.blocks(extent.getBytes(), extent.getBlockBytes())));
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
    told(
        () -> {
          storage
              .tree()
              .list(
                  request.getPath(),
                  files ->
                      answers.add(ListDirectoryResponse.newBuilder().addAllFiles(files).build()));
          return null;
        });
    Pump.send((ServerCallStreamObserver<ListDirectoryResponse>) response, answers::poll);
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
    answer(response, () -> storage.writes().begin(request));
  }

  @Override
  public void reserveBlocks(
      ReserveBlocksRequest request, StreamObserver<ReserveBlocksResponse> response) {
    answer(
        response,
        () -> {
          String extent = request.getExtentId();
          requireWriter(extent, TaskKey.getDefaultInstance());
          int blocks = storage.writes().reserve(extent, request.getBlocks());
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
        told(
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
        new BlockDownload(storage.blocks(), storage.memories(), storage::needs, request);
    Pump.send((ServerCallStreamObserver<ReadBlocksResponse>) response, () -> told(download::next));
  }

  @Override
  public void checkBlocks(
      CheckBlocksRequest request, StreamObserver<CheckBlocksResponse> response) {
    ServerCallStreamObserver<CheckBlocksResponse> call =
        (ServerCallStreamObserver<CheckBlocksResponse>) response;
    guard.checkBlocks();
    BlockCheck check =
        told(() -> new BlockCheck(ignite, storage.caches(), storage::pending, call::isCancelled));
    Pump.send(call, () -> told(check::next));
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
          }
          return PublishWriteResponse.newBuilder()
              .setFile(storage.writes().publish(request))
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
          storage.writes().abandon(request.getExtentId());
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
    return storage.tree().get(path).getKind() == FileKind.DIRECTORY;
  }

  /** Who goes on with what is being written must be able to write the file. */
  private void requireWriter(String extent, TaskKey task) {
    PendingExtent pending = storage.pendings().get(extent);
    if (pending == null || !pending.hasWrite()) {
      guard.writeBlocks();
    } else {
      requireWrite(pending.getWrite().getPath(), task);
    }
  }

  private PendingExtent writer(String extent) {
    requireWriter(extent, TaskKey.getDefaultInstance());
    return storage.pendings().get(extent);
  }

  private static <R> void answer(StreamObserver<R> response, Supplier<R> call) {
    response.onNext(told(call));
    response.onCompleted();
  }

  /** A node that stops is unavailable to its callers: they ask another one. */
  private static <R> R told(Supplier<R> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      if (X.hasCause(
          e,
          NodeStoppingException.class,
          InterruptedException.class,
          IgniteInterruptedException.class)) {
        throw Status.UNAVAILABLE
            .withDescription("This node stops. Files come from running nodes. Ask another one.")
            .withCause(e)
            .asRuntimeException();
      }
      throw e;
    }
  }
}
