package io.tensorflowignite.api;

import io.grpc.BindableService;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.netty.NettyServerBuilder;
import io.tensorflowignite.BatchLimits;
import io.tensorflowignite.RareLog;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.security.tls.PeerCertificates;
import io.tensorflowignite.v1.ErrorCode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.IgniteLogger;

/** The node's one server: node API and data endpoint behind one port. */
public final class ApiServer implements AutoCloseable {
  private static final long KEEPALIVE_MIN_S = 1;
  private static final long END_TIMEOUT_S = 2;

  /** A connection that has not said in this time that it speaks HTTP/2 is closed. */
  private static final long HANDSHAKE_S = 5;

  /** Of a client that has nothing to ask; its library connects again when it has. */
  private static final long IDLE_MIN = 10;

  /** A client whose machine is gone is noticed within the two together. */
  private static final long PING_S = 120;

  private static final long PONG_S = 30;
  private static final int CALLS_PER_CONNECTION = 500;
  private static final int RESETS_PER_WINDOW = 2_000;
  private static final int RESETS_WINDOW_S = 10;

  /** Streams that wait for their receivers have threads of their own. */
  private static final int THREADS = 128;

  private static final int THREAD_IDLE_S = 30;

  /** Two blocks of a file: the next one arrives while the last is being stored. */
  private static final int WINDOW_BYTES = 4 << 20;

  private final Server server;
  private final ExecutorService calls;
  private final CallLimits limits;

  private ApiServer(Server server, ExecutorService calls, CallLimits limits) {
    this.server = server;
    this.calls = calls;
    this.limits = limits;
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @param interceptors what every call passes, the first one first
   */
  public static ApiServer start(
      String host,
      int firstPort,
      int lastPort,
      BatchLimits batches,
      IgniteLogger log,
      NodeTls tls,
      List<ServerInterceptor> interceptors,
      List<? extends BindableService> services) {
    AtomicInteger number = new AtomicInteger();
    ThreadPoolExecutor calls =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            THREAD_IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            body -> {
              Thread thread = new Thread(body, "tensorflow-ignite-api-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    calls.allowCoreThreadTimeOut(true);
    CallLimits limits = new CallLimits();
    Connections connections = new Connections();
    ErrorInterceptor errors = new ErrorInterceptor(new RareLog(log));
    GrpcLog.tame();
    IOException last = null;
    for (int port = firstPort; port <= lastPort; port++) {
      NettyServerBuilder builder =
          NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
              .executor(calls)
              .maxInboundMessageSize((int) Math.min(batches.batch(), Integer.MAX_VALUE))
              .addStreamTracerFactory(new InboundLimits(batches.batch(), batches.incomplete()))
              .addTransportFilter(limits)
              .addTransportFilter(connections)
              // No client of ours compresses, and what is small may become large.
              .decompressorRegistry(
                  DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
              .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION)
              .maxRstFramesPerWindow(RESETS_PER_WINDOW, RESETS_WINDOW_S)
              .handshakeTimeout(HANDSHAKE_S, TimeUnit.SECONDS)
              .maxConnectionIdle(IDLE_MIN, TimeUnit.MINUTES)
              .keepAliveTime(PING_S, TimeUnit.SECONDS)
              .keepAliveTimeout(PONG_S, TimeUnit.SECONDS)
              .flowControlWindow(WINDOW_BYTES)
              .permitKeepAliveTime(KEEPALIVE_MIN_S, TimeUnit.SECONDS)
              .permitKeepAliveWithoutCalls(true)
              .intercept(new PeerCertificates());
      tls.context().ifPresent(builder::sslContext);
      for (BindableService service : services) {
        builder.addService(
            RequestDecoding.of(
                ServerInterceptors.interceptForward(
                    ServerInterceptors.intercept(service, connections, limits, errors),
                    interceptors)));
      }
      try {
        return new ApiServer(builder.build().start(), calls, limits);
      } catch (IOException e) {
        last = e;
      }
    }
    calls.shutdownNow();
    limits.close();
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
    limits.close();
  }
}
