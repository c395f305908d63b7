package io.tensorflowignite.rpc;

import io.grpc.HandlerRegistry;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.netty.handler.ssl.SslContext;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
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

  /** Knows every method, and reads no request. */
  private static final class Rejection extends HandlerRegistry {
    private final Supplier<Status> reason;

    Rejection(Supplier<Status> reason) {
      this.reason = reason;
    }

    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String method, String authority) {
      return ServerMethodDefinition.create(
          MethodDescriptor.newBuilder(new Unread(), new Unread())
              .setType(MethodDescriptor.MethodType.UNKNOWN)
              .setFullMethodName(method)
              .build(),
          (call, headers) -> ErrorStatuses.reject(call, reason.get()));
    }
  }

  private static final class Unread implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      return new byte[0];
    }
  }
}
