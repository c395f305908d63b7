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

  private final RequestMemoryLimits limits = new RequestMemoryLimits(256 * MIB, 1024 * MIB);

  private ServerStreamTracer call(String method) {
    return limits.newServerStreamTracer(method, new Metadata());
  }

  @Test
  public void onlyRequestsWithRowsMayBeAsLargeAsABatch() {
    for (String method : new String[] {"DoPut", "DoExchange"}) {
      call(FLIGHT + method).inboundWireSize(256 * MIB);
    }
    for (String method : new String[] {"DoGet", "DoAction", "GetFlightInfo"}) {
      call(FLIGHT + method).inboundWireSize(4 * MIB);
      StatusRuntimeException refused =
          assertThrows(
              StatusRuntimeException.class,
              () -> call(FLIGHT + method).inboundWireSize(4 * MIB + 1));
      assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());
    }
  }
}
