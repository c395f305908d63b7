package io.tensorflowignite.storage;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.AbandonWriteRequest;
import io.tensorflowignite.v1.AbandonWriteResponse;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.BlockHolders;
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
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.PublishWriteResponse;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RemoveFileResponse;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.RenameFileResponse;
import io.tensorflowignite.v1.ReserveBlocksRequest;
import io.tensorflowignite.v1.ReserveBlocksResponse;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.util.typedef.X;

/** The file service of a node. */
public final class FileEndpoint extends FileServiceGrpc.FileServiceImplBase {
  private final Storage storage;
  private final BiFunction<String, Integer, BlockHolders> holders;

  /** The holders of so many blocks are found by their extent. */
  public FileEndpoint(Storage storage, BiFunction<String, Integer, BlockHolders> holders) {
    this.storage = storage;
    this.holders = holders;
  }

  @Override
  public void getFile(GetFileRequest request, StreamObserver<GetFileResponse> response) {
    answer(
        response,
        () -> {
          FileInfo file = storage.tree().get(request.getPath());
          GetFileResponse.Builder found = GetFileResponse.newBuilder().setFile(file);
          if (request.getLocate()) {
            for (Extent extent : file.getExtentsList()) {
              found.addHolders(
                  holders.apply(
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
    send(answers, (ServerCallStreamObserver<ListDirectoryResponse>) response);
  }

  @Override
  public void makeDirectory(
      MakeDirectoryRequest request, StreamObserver<MakeDirectoryResponse> response) {
    answer(
        response,
        () -> {
          storage.tree().makeDirectory(request);
          return MakeDirectoryResponse.getDefaultInstance();
        });
  }

  @Override
  public void removeFile(RemoveFileRequest request, StreamObserver<RemoveFileResponse> response) {
    answer(
        response,
        () -> {
          storage.tree().remove(request);
          return RemoveFileResponse.getDefaultInstance();
        });
  }

  @Override
  public void renameFile(RenameFileRequest request, StreamObserver<RenameFileResponse> response) {
    answer(
        response,
        () -> {
          storage.tree().rename(request);
          return RenameFileResponse.getDefaultInstance();
        });
  }

  @Override
  public void getUsage(GetUsageRequest request, StreamObserver<GetUsageResponse> response) {
    answer(response, () -> storage.tree().usage(request.getPath()));
  }

  @Override
  public void beginWrite(BeginWriteRequest request, StreamObserver<BeginWriteResponse> response) {
    answer(response, () -> storage.writes().begin(request));
  }

  @Override
  public void reserveBlocks(
      ReserveBlocksRequest request, StreamObserver<ReserveBlocksResponse> response) {
    answer(
        response,
        () -> {
          String extent = request.getExtentId();
          int blocks = storage.writes().reserve(extent, request.getBlocks());
          return ReserveBlocksResponse.newBuilder()
              .setHolders(holders.apply(extent, blocks))
              .build();
        });
  }

  @Override
  public void publishWrite(
      PublishWriteRequest request, StreamObserver<PublishWriteResponse> response) {
    answer(
        response,
        () -> PublishWriteResponse.newBuilder().setFile(storage.writes().publish(request)).build());
  }

  @Override
  public void abandonWrite(
      AbandonWriteRequest request, StreamObserver<AbandonWriteResponse> response) {
    answer(
        response,
        () -> {
          storage.writes().abandon(request.getExtentId());
          return AbandonWriteResponse.getDefaultInstance();
        });
  }

  /** As fast as the receiver takes them, without a thread that waits. */
  private static <R> void send(Queue<R> answers, ServerCallStreamObserver<R> response) {
    response.setOnCancelHandler(answers::clear);
    response.setOnReadyHandler(
        () -> {
          if (answers.isEmpty()) {
            return;
          }
          while (response.isReady() && !answers.isEmpty()) {
            response.onNext(answers.remove());
          }
          if (answers.isEmpty()) {
            response.onCompleted();
          }
        });
    if (answers.isEmpty()) {
      response.onCompleted();
    }
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
