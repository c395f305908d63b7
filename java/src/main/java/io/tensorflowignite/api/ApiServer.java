package io.tensorflowignite.api;

import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.netty.NettyServerBuilder;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.security.tls.PeerCertificates;
import io.tensorflowignite.v1.ErrorCode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.IgniteLogger;

/** The node's one server: node API and data endpoint behind one port. */
public final class ApiServer implements AutoCloseable {
  private static final long KEEPALIVE_MIN_S = 1;
  private static final long END_TIMEOUT_S = 2;

  /** Two blocks of a file: the next one arrives while the last is being stored. */
  private static final int WINDOW_BYTES = 4 << 20;

  private final Server server;
  private final ExecutorService calls;

  private ApiServer(Server server, ExecutorService calls) {
    this.server = server;
    this.calls = calls;
  }

  /** Binds the first free port of the range; port 0 is any free port. */
  public static ApiServer start(
      String host,
      int firstPort,
      int lastPort,
      IgniteLogger log,
      NodeTls tls,
      BindableService... services) {
    AtomicInteger number = new AtomicInteger();
    ExecutorService calls =
        Executors.newCachedThreadPool(
            body -> {
              Thread thread = new Thread(body, "tensorflow-ignite-api-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    IOException last = null;
    for (int port = firstPort; port <= lastPort; port++) {
      NettyServerBuilder builder =
          NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
              .executor(calls)
              .maxInboundMessageSize(Integer.MAX_VALUE)
              .flowControlWindow(WINDOW_BYTES)
              .permitKeepAliveTime(KEEPALIVE_MIN_S, TimeUnit.SECONDS)
              .permitKeepAliveWithoutCalls(true)
              .intercept(new PeerCertificates());
      tls.context().ifPresent(builder::sslContext);
      for (BindableService service : services) {
        builder.addService(ServerInterceptors.intercept(service, new ErrorInterceptor(log)));
      }
      try {
        return new ApiServer(builder.build().start(), calls);
      } catch (IOException e) {
        last = e;
      }
    }
    calls.shutdownNow();
    throw new TensorFlowIgniteException(
        ErrorCode.INTERNAL_ERROR,
        String.format(
            "The node API could not bind %s port %d..%d: %s. It needs one free port of that range."
                + " Free one, or set tensorflow.ignite.host and tensorflow.ignite.port on this"
                + " node.",
            host, firstPort, lastPort, last == null ? "no port" : last.getMessage()),
        last);
  }

  public int port() {
    return server.getPort();
  }

  /** Ends calls that are under way after 2 s. */
  @Override
  public void close() {
    server.shutdown();
    try {
      if (!server.awaitTermination(END_TIMEOUT_S, TimeUnit.SECONDS)) {
        server.shutdownNow().awaitTermination(END_TIMEOUT_S, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
    }
    calls.shutdownNow();
  }
}
