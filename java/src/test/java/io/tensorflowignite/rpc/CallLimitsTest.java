package io.tensorflowignite.rpc;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.After;
import org.junit.Test;

public class CallLimitsTest {
  private static final int TIMEOUT_S = 20;

  private final CallLimits limits = new CallLimits();

  @After
  public void tearDown() {
    limits.close();
  }

  @Test
  public void aConnectionThatNeverWasReadyIsNotCountedAsEnded() throws Exception {
    Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addTransportFilter(limits)
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    try {
      for (int i = 0; i < 5; i++) {
        probe(server.getPort(), "");
        probe(server.getPort(), "\u0016\u0003\u0001 no HTTP/2 at all, whatever it is\r\n\r\n");
      }
      StatusRuntimeException answer =
          assertThrows(
              StatusRuntimeException.class,
              () ->
                  ClientCalls.blockingUnaryCall(
                      channel,
                      NodeApiServiceGrpc.getListNodesMethod(),
                      CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS),
                      ListNodesRequest.getDefaultInstance()));
      assertEquals(Status.Code.UNIMPLEMENTED, answer.getStatus().getCode());
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
    // By then gRPC has reported the end of each connection.
    assertTrue(server.awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
    assertEquals(0, limits.connections());
  }

  @Test
  public void aConnectionAboveTheLimitIsRejectedAndNotCounted() {
    Attributes ready = null;
    for (int i = 0; i < CallLimits.MAX_CONNECTIONS; i++) {
      ready = limits.transportReady(Attributes.EMPTY);
    }
    assertThrows(StatusRuntimeException.class, () -> limits.transportReady(Attributes.EMPTY));
    limits.transportTerminated(null);
    assertEquals(CallLimits.MAX_CONNECTIONS, limits.connections());
    limits.transportTerminated(ready);
    assertEquals(CallLimits.MAX_CONNECTIONS - 1, limits.connections());
  }

  @Test
  public void callsOfOneMethodLeaveHalfOfTheLimitToOthers() {
    String greedy = "Service/Watch";
    int begun = 0;
    while (limits.begin(greedy)) {
      begun++;
    }
    assertEquals(CallLimits.MAX_CALLS / 2, begun);
    int others = 0;
    while (limits.begin("Service/Logs")) {
      others++;
    }
    assertEquals(CallLimits.MAX_CALLS / 4, others);
    assertTrue(limits.begin("Service/Get"));
    limits.end("Service/Get");
    assertFalse(limits.begin(greedy));
    for (; begun > 0; begun--) {
      limits.end(greedy);
    }
    assertTrue(limits.begin(greedy));
  }

  /** Sends a text, and waits until the server closes the connection if the text is not empty. */
  private static void probe(int port, String text) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(TIMEOUT_S));
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      if (!text.isEmpty()) {
        socket.getInputStream().readAllBytes();
      }
    }
  }
}
