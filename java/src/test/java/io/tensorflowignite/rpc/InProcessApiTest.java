package io.tensorflowignite.rpc;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.v1.FileServiceGrpc;
import io.tensorflowignite.v1.ListDirectoryRequest;
import io.tensorflowignite.v1.ListDirectoryResponse;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.ignite.logger.NullLogger;
import org.junit.After;
import org.junit.Test;

/** What the responses of calls within the process take of the heap. */
public class InProcessApiTest {
  private static final long HEAP = 1 << 20;
  private static final ListDirectoryRequest ROOT = ListDirectoryRequest.getDefaultInstance();

  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final ResponseMemory responses =
      new ResponseMemory(HEAP, Runnable::run, clock, new RateLimitedLog(new NullLogger()));
  private long kept = 1_000;
  private final InProcessApi api =
      InProcessApi.start(new NullLogger(), List.of(responses), List.of(new Directories()));

  @After
  public void stop() {
    api.close();
    clock.shutdownNow();
  }

  @Test
  public void aListThatNobodyReadsCountsUntilItsCallEnds() {
    ClientCall<ListDirectoryRequest, ListDirectoryResponse> call =
        api.channel().newCall(FileServiceGrpc.getListDirectoryMethod(), CallOptions.DEFAULT);
    call.start(new ClientCall.Listener<ListDirectoryResponse>() {}, new Metadata());
    call.sendMessage(ROOT);
    call.halfClose();
    assertEquals(kept, responses.total());
    call.cancel("it is not read", null);
    assertEquals(0, responses.total());
  }

  @Test
  public void aListThatExceedsTheMemoryOfAllResponsesIsRefused() {
    kept = HEAP;
    StatusRuntimeException refused =
        assertThrows(
            StatusRuntimeException.class,
            () -> FileServiceGrpc.newBlockingStub(api.channel()).listDirectory(ROOT).next());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());
    assertTrue(refused.getMessage(), refused.getMessage().contains("1,048,576 bytes"));
    assertEquals(0, responses.total());
  }

  private final class Directories extends FileServiceGrpc.FileServiceImplBase {
    @Override
    public void listDirectory(
        ListDirectoryRequest request, StreamObserver<ListDirectoryResponse> response) {
      ResponseMemory.keep(kept);
      StreamSender.send((ServerCallStreamObserver<ListDirectoryResponse>) response, () -> null);
    }
  }
}
