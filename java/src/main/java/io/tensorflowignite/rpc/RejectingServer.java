package io.tensorflowignite.rpc;

import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Rejects every call of every service, with one reason: for a node that cannot serve yet. */
public final class RejectingServer implements AutoCloseable {
  private static final long HANDSHAKE_S = 5;
  private static final long IDLE_MIN = 1;
  private static final int MAX_REQUEST_BYTES = 1 << 20;

  private final Server server;

  private RejectingServer(Server server) {
    this.server = server;
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @param reason called for each call
   */
  public static RejectingServer start(
      String host, int firstPort, int lastPort, Optional<SslContext> tls, Supplier<Status> reason)
      throws IOException {
    IOException last = null;
    for (int port = firstPort; port <= lastPort; port++) {
      NettyServerBuilder builder =
          NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
              .directExecutor()
              .maxInboundMessageSize(MAX_REQUEST_BYTES)
              .handshakeTimeout(HANDSHAKE_S, TimeUnit.SECONDS)
              .maxConnectionIdle(IDLE_MIN, TimeUnit.MINUTES)
              .permitKeepAliveTime(1, TimeUnit.SECONDS)
              .permitKeepAliveWithoutCalls(true)
              .fallbackHandlerRegistry(new Rejection(reason));
      tls.ifPresent(builder::sslContext);
      try {
        return new RejectingServer(builder.build().start());
      } catch (IOException e) {
        last = e;
      }
    }
    throw last == null ? new IOException("no port") : last;
  }

  public int port() {
    return server.getPort();
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(HANDSHAKE_S, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
