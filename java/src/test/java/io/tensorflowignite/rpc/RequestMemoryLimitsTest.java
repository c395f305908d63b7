package io.tensorflowignite.rpc;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.base.RateLimitedLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

/** How many bytes a request may have. */
public class RequestMemoryLimitsTest {
  private static final int MIB = 1 << 20;
  private static final String FLIGHT = "arrow.flight.protocol.FlightService/";

  private static final String PUT_BLOCKS = "tensorflow_ignite.v1.FileService/PutBlocks";

  private final AtomicLong nanos = new AtomicLong();
  private final List<ServerStreamTracer> blocks = new ArrayList<>();
  private final RequestMemoryLimits limits =
      new RequestMemoryLimits(
          256 * MIB, 1024 * MIB, 1024L * MIB, nanos::get, new RateLimitedLog(new NullLogger()));

  private ServerStreamTracer call(String method) {
    return limits.newServerStreamTracer(method, new Metadata());
  }

  @Test
  public void requestsOfRunningCallsTakeAPartOfTheHeapTogether() {
    String method = "tensorflow_ignite.v1.NodeApiService/SubmitJob";
    // Of a heap of 1 GiB: 4 MiB.
    List<ServerStreamTracer> calls = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      calls.add(read(method, MIB));
    }
    StatusRuntimeException refused =
        assertThrows(StatusRuntimeException.class, () -> read(method, 1));
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());

    calls.get(0).streamClosed(Status.OK);
    // Of a stream of requests, only the last one is there.
    calls.get(1).inboundWireSize(MIB / 2);
    calls.get(1).inboundMessageRead(1, MIB / 2, MIB / 2);
    read(method, MIB);
    read(FLIGHT + "DoPut", 150 * MIB);
    read(PUT_BLOCKS, 4 * MIB);
    read(method, MIB / 2);
    assertThrows(StatusRuntimeException.class, () -> read(method, 1));
  }

  private ServerStreamTracer read(String method, int bytes) {
    ServerStreamTracer call = call(method);
    call.inboundWireSize(bytes);
    call.inboundMessageRead(0, bytes, bytes);
    return call;
  }

  @Test
  public void onlyRequestsWithRowsMayBeAsLargeAsABatch() {
    RequestMemoryLimits large =
        new RequestMemoryLimits(
            256 * MIB, 1024 * MIB, 4096L * MIB, nanos::get, new RateLimitedLog(new NullLogger()));
    for (String method : new String[] {"DoPut", "DoExchange"}) {
      large.newServerStreamTracer(FLIGHT + method, new Metadata()).inboundWireSize(256 * MIB);
    }
    for (String method : new String[] {"DoGet", "DoAction", "GetFlightInfo"}) {
      call(FLIGHT + method).inboundWireSize(MIB);
      StatusRuntimeException refused =
          assertThrows(
              StatusRuntimeException.class,
              () -> call(FLIGHT + method).inboundWireSize(5 * MIB / 4 + 1));
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());
    }
  }

  /** A quarter of the heap is 256 MiB; blocks may have three quarters of it. */
  private List<Context> halfSentBlocks(int count) {
    List<Context> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      ServerStreamTracer call = call(PUT_BLOCKS);
      Context context = call.filterContext(Context.ROOT).withCancellation();
      context.run(() -> limits.interceptCall(null, new Metadata(), (started, headers) -> null));
      nanos.incrementAndGet();
      call.inboundWireSize(4 * MIB);
      blocks.add(call);
      calls.add(context);
    }
    return calls;
  }

  @Test
  public void incompleteBlocksLeaveMemoryToOtherRequests() {
    halfSentBlocks(48);
    assertThrows(StatusRuntimeException.class, () -> call(PUT_BLOCKS).inboundWireSize(1));
    call("tensorflow_ignite.v1.NodeApiService/SubmitJob").inboundWireSize(MIB);
  }

  @Test
  public void aRequestThatTricklesLosesItsMemoryToAnother() {
    List<Context> calls = halfSentBlocks(47);
    for (int i = 0; i < 4; i++) {
      nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(500));
      blocks.forEach(block -> block.inboundWireSize(1));
    }
    call(PUT_BLOCKS).inboundWireSize(4 * MIB);
    assertTrue(calls.get(0).isCancelled());
    assertFalse(calls.get(2).isCancelled());
  }

  @Test
  public void aRequestThatStandsStillLosesItsMemoryToAnother() {
    List<Context> calls = halfSentBlocks(48);
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(2));
    call(PUT_BLOCKS).inboundWireSize(4 * MIB);
    assertTrue(calls.get(0).isCancelled());
    assertFalse(calls.get(1).isCancelled());
  }
}
