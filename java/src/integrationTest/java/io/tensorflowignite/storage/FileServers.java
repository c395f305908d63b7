package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.FutureResponse;
import io.tensorflowignite.LoopbackServer;
import io.tensorflowignite.api.FileService;
import io.tensorflowignite.api.ServedFiles;
import io.tensorflowignite.rpc.ApiServer;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.table.DeploymentTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.PutBlocksRequest;
import io.tensorflowignite.v1.PutBlocksResponse;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.zip.CRC32;
import org.apache.ignite.Ignite;

/** A server with the file service for each node of a cluster, and clients of these servers. */
final class FileServers implements AutoCloseable {
  private static final long TIMEOUT_S = 60;

  final List<String> addresses = new ArrayList<>();
  private final List<ApiServer> servers = new ArrayList<>();
  private final List<ManagedChannel> channels = new ArrayList<>();

  FileServers(StorageNodes cluster) {
    for (int i = 0; i < cluster.nodes.size(); i++) {
      Ignite node = cluster.nodes.get(i);
      NodeTable table = new NodeTable(node);
      FileService files =
          new FileService(
              node,
              cluster.store(i),
              table,
              Guard.open(),
              new ServedFiles(new DeploymentTable(node, () -> {}), Guard.open()));
      ApiServer server =
          LoopbackServer.start(
              node.log(), Collections.emptyList(), Collections.singletonList(files));
      servers.add(server);
      String address = "127.0.0.1:" + server.port();
      addresses.add(address);
      table.put(
          Node.newBuilder()
              .setId(node.cluster().localNode().id().toString())
              .setAddress(address)
              .build());
      channels.add(
          NettyChannelBuilder.forTarget(address)
              .usePlaintext()
              .maxInboundMessageSize(Integer.MAX_VALUE)
              // Else it grows with the bandwidth that gRPC measures.
              .flowControlWindow(1 << 20)
              .build());
    }
  }

  FileServiceGrpc.FileServiceBlockingStub calls(int node) {
    return FileServiceGrpc.newBlockingStub(channels.get(node))
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
  }

  FileServiceGrpc.FileServiceStub streams(int node) {
    return FileServiceGrpc.newStub(channels.get(node))
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS);
  }

  List<ReadBlocksResponse> read(int node, ReadBlocksRequest.Builder request) {
    return ImmutableList.copyOf(calls(node).readBlocks(request.build()));
  }

  void put(int node, PutBlocksRequest block) {
    FutureResponse<PutBlocksResponse> answer = new FutureResponse<>();
    StreamObserver<PutBlocksRequest> call = streams(node).putBlocks(answer);
    call.onNext(block);
    call.onCompleted();
    try {
      answer.get(TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw (StatusRuntimeException) e.getCause();
    } catch (InterruptedException | TimeoutException e) {
      throw new AssertionError(e);
    }
  }

  static PutBlocksRequest.Builder block(String extent, int number, byte[] data) {
    return PutBlocksRequest.newBuilder()
        .setExtentId(extent)
        .setNumber(number)
        .setData(ByteString.copyFrom(data))
        .setChecksum(checksum(data));
  }

  static int checksum(byte[] data) {
    CRC32 crc = new CRC32();
    crc.update(data);
    return (int) crc.getValue();
  }

  /** The text of the call's error, which must have the status and the code. */
  static String assertRefused(Status.Code status, String code, Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException e) {
      String text = String.valueOf(e.getStatus().getDescription());
      assertEquals(text, status, e.getStatus().getCode());
      assertTrue(text, text.endsWith(" [code=" + code + "]"));
      return text;
    }
    throw new AssertionError("the call did not fail with " + code);
  }

  /** The value of a growing number when the number has not changed for half a second. */
  static long settled(LongSupplier number) {
    long last = number.getAsLong();
    for (int same = 0; same < 25; ) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      long now = number.getAsLong();
      same = now == last ? same + 1 : 0;
      last = now;
    }
    return last;
  }

  @Override
  public void close() throws InterruptedException {
    for (ManagedChannel channel : channels) {
      assertTrue(channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
    }
    servers.forEach(ApiServer::close);
  }
}
