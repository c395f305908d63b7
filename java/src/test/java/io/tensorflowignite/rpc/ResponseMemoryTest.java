package io.tensorflowignite.rpc;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.Full;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.settings.BatchLimits;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.GetFileRequest;
import io.tensorflowignite.v1.GetFileResponse;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.ignite.logger.NullLogger;
import org.junit.After;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/**
 * Who gets memory for responses, and whose responses are given up.
 *
 * <p>Promise (memory): A caller who does not read has a part of the heap at most, and loses it to
 * others.
 */
public class ResponseMemoryTest {
  private static final int TIMEOUT_S = 60;
  private static final int MIB = 1 << 20;
  private static final int CLIENT_BYTES = 64 << 10;

  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final ResponseMemory memory =
      new ResponseMemory(16 * MIB, Runnable::run, clock, new RateLimitedLog(new NullLogger()));
  private final ConnectionTracker connections = new ConnectionTracker();

  @After
  public void tearDown() {
    clock.shutdownNow();
  }

  private ConnectionTracker.Connection connection() {
    return ConnectionTracker.of(connections.transportReady(Attributes.EMPTY));
  }

  private ResponseMemory.OpenCall call(ConnectionTracker.Connection connection) {
    return memory.new OpenCall("Files/Read", connection, Context.ROOT.withCancellation());
  }

  /** A call whose message of a MiB waits for its receiver. */
  private ResponseMemory.OpenCall unread(ConnectionTracker.Connection connection) {
    ResponseMemory.OpenCall call = call(connection);
    assertTrue(call.admit(MIB, () -> {}));
    call.sends(MIB);
    call.releaseAdmitted();
    return call;
  }

  /** Calls that use the limit of 4 MiB up; the first two are of the given connection. */
  private List<ResponseMemory.OpenCall> unreadOfAll(ConnectionTracker.Connection greedy) {
    return List.of(unread(greedy), unread(greedy), unread(connection()), unread(connection()));
  }

  @Test
  public void aConnectionLeavesAsMuchMemoryToTheOthersAsItHas() {
    ConnectionTracker.Connection greedy = connection();
    List<ResponseMemory.OpenCall> unread = List.of(unread(greedy), unread(greedy));
    assertTrue(!call(greedy).admit(MIB, () -> {}));
    ResponseMemory.OpenCall other = call(connection());
    assertTrue(other.admit(MIB, () -> {}));
    other.end();
    unread.forEach(ResponseMemory.OpenCall::end);
  }

  @Test
  public void whoHasLeastGoesFirstWhenThereIsRoom() {
    ConnectionTracker.Connection greedy = connection();
    List<ResponseMemory.OpenCall> unread = unreadOfAll(greedy);
    List<String> admitted = new ArrayList<>();
    ResponseMemory.OpenCall more = call(greedy);
    ResponseMemory.OpenCall modest = call(connection());
    assertTrue(!more.admit(MIB, () -> admitted.add("greedy")));
    assertTrue(!modest.admit(MIB, () -> admitted.add("modest")));
    unread.get(0).received();
    assertEquals(List.of("modest"), admitted);
    unread.get(1).end();
    assertEquals(List.of("modest", "greedy"), admitted);
    modest.end();
    more.end();
    unread.forEach(ResponseMemory.OpenCall::end);
    assertEquals(0, memory.total());
  }

  @Test
  public void aStalledCallIsResetForAnotherConnectionAndNotForItsOwn() throws Exception {
    ConnectionTracker.Connection greedy = connection();
    unreadOfAll(greedy);
    CompletableFuture<String> own = new CompletableFuture<>();
    ResponseMemory.OpenCall more = call(greedy);
    assertTrue(!more.admit(MIB, () -> own.complete("admitted")));
    CompletableFuture<String> other = new CompletableFuture<>();
    ResponseMemory.OpenCall modest = call(connection());
    assertTrue(!modest.admit(MIB, () -> other.complete("admitted")));
    assertEquals("admitted", other.get(TIMEOUT_S, TimeUnit.SECONDS));
    assertTrue(!own.isDone());
    assertEquals(4 * MIB, memory.total());
  }

  @Test
  public void responsesOfAnySizeStayWithinHalfMoreThanTheLimit() {
    for (int i = 0; i < 100; i++) {
      call(connection()).sends(MIB);
      assertTrue(memory.total() <= 6 * MIB);
    }
  }

  @Test
  public void aResponseThatCanNeverFitIsAnErrorWithAText() {
    ResponseMemory.OpenCall call = call(connection());
    assertRefused(ErrorCode.ERROR_CODE_LIMIT_EXCEEDED, () -> call.keep(6 * MIB + 1));
    assertEquals(0, memory.total());
    call.keep(6 * MIB);
    assertEquals(6 * MIB, memory.total());
    call.end();
    assertEquals(0, memory.total());
  }

  /** The server of a node, whose blocks are of zeros. */
  @Test
  @Category(Full.class)
  public void aReaderIsServedBesideAThousandCallsThatNobodyReads() throws Exception {
    int blocks = (int) (Runtime.getRuntime().maxMemory() / (8 * MIB));
    int block = 2 * MIB;
    FileServiceGrpc.FileServiceImplBase files =
        new FileServiceGrpc.FileServiceImplBase() {
          @Override
          public void readBlocks(
              ReadBlocksRequest request, StreamObserver<ReadBlocksResponse> response) {
            Iterator<Integer> numbers = request.getNumbersList().iterator();
            StreamSender.sendLarge(
                (ServerCallStreamObserver<ReadBlocksResponse>) response,
                block,
                numbers::hasNext,
                () ->
                    numbers.hasNext()
                        ? ReadBlocksResponse.newBuilder()
                            .setNumber(numbers.next())
                            .setData(ByteString.copyFrom(new byte[block]))
                            .build()
                        : null);
          }

          @Override
          public void getFile(GetFileRequest request, StreamObserver<GetFileResponse> response) {
            response.onNext(GetFileResponse.getDefaultInstance());
            response.onCompleted();
          }
        };
    try (ApiServer server =
        ApiServer.start(
            "127.0.0.1",
            0,
            0,
            BatchLimits.DEFAULT,
            new NullLogger(),
            Optional.empty(),
            List.of(),
            List.of(files))) {
      List<ManagedChannel> channels = new ArrayList<>();
      try {
        for (int i = 0; i < 8; i++) {
          channels.add(channel(server));
          for (int call = 0; call < 125; call++) {
            callThatNobodyReads(channels.get(i));
          }
        }
        ManagedChannel channel = channel(server);
        channels.add(channel);
        ReadBlocksRequest request =
            ReadBlocksRequest.newBuilder()
                .addAllNumbers(() -> IntStream.range(0, blocks).iterator())
                .build();
        Iterator<ReadBlocksResponse> read =
            FileServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
                .readBlocks(request);
        for (int number = 0; number < blocks; number++) {
          assertEquals(number, read.next().getNumber());
        }
        assertEquals(
            GetFileResponse.getDefaultInstance(),
            FileServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
                .getFile(GetFileRequest.getDefaultInstance()));
      } finally {
        channels.forEach(ManagedChannel::shutdownNow);
      }
    }
  }

  private static ManagedChannel channel(ApiServer server) {
    return NettyChannelBuilder.forAddress("127.0.0.1", server.port())
        .usePlaintext()
        // Both ends are in this process: the memory is for the server.
        .flowControlWindow(CLIENT_BYTES)
        .maxInboundMessageSize(Integer.MAX_VALUE)
        .build();
  }

  private static void callThatNobodyReads(ManagedChannel channel) {
    ClientCall<ReadBlocksRequest, ReadBlocksResponse> call =
        channel.newCall(FileServiceGrpc.getReadBlocksMethod(), CallOptions.DEFAULT);
    call.start(new ClientCall.Listener<ReadBlocksResponse>() {}, new Metadata());
    call.sendMessage(ReadBlocksRequest.newBuilder().addNumbers(0).addNumbers(1).build());
    call.halfClose();
  }
}
