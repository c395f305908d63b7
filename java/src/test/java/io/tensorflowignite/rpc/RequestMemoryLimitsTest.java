package io.tensorflowignite.rpc;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import org.junit.Test;

/** How many bytes a request may have. */
public class RequestMemoryLimitsTest {
  private static final int MIB = 1 << 20;
  private static final String FLIGHT = "arrow.flight.protocol.FlightService/";

  private final RequestMemoryLimits limits =
      new RequestMemoryLimits(256 * MIB, 1024 * MIB, 512L * MIB);

  private ServerStreamTracer call(String method) {
    return limits.newServerStreamTracer(method, new Metadata());
  }

  @Test
  public void requestsOfRunningCallsTakeAPartOfTheHeapTogether() {
    String method = "tensorflow_ignite.v1.NodeApiService/SubmitJob";
    ServerStreamTracer first = read(method, MIB);
    ServerStreamTracer second = read(method, MIB);
    StatusRuntimeException refused =
        assertThrows(StatusRuntimeException.class, () -> read(method, 1));
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());

    first.streamClosed(Status.OK);
    // Of a stream of requests, only the last one is there.
    second.inboundWireSize(MIB / 2);
    second.inboundMessageRead(1, MIB / 2, MIB / 2);
    read(method, MIB);
    read(FLIGHT + "DoPut", 200 * MIB);
    read("tensorflow_ignite.v1.FileService/PutBlocks", 4 * MIB);
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
    for (String method : new String[] {"DoPut", "DoExchange"}) {
      call(FLIGHT + method).inboundWireSize(256 * MIB);
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
}
