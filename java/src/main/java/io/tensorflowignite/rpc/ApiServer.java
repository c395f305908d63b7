package io.tensorflowignite.rpc;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;

import io.grpc.BindableService;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.netty.NettyServerBuilder;
import io.netty.handler.ssl.SslContext;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.settings.BatchLimits;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.IgniteLogger;

/** The node's one server: node API and data endpoint behind one port. */
public final class ApiServer implements AutoCloseable {
  private static final long KEEPALIVE_MIN_S = 1;
  private static final long CLOSE_TIMEOUT_S = 2;

  /** A connection without an HTTP/2 preface in this time is closed. */
  private static final long HANDSHAKE_S = 5;

  /** A connection without calls is closed after this time; a client's library connects again. */
  private static final long IDLE_MIN = 10;

  /** A client whose machine has failed is noticed within the sum of both times. */
  private static final long PING_S = 120;

  private static final long PONG_S = 30;
  private static final int CALLS_PER_CONNECTION = 500;
  private static final int RESETS_PER_WINDOW = 2_000;
  private static final int RESETS_WINDOW_S = 10;

  /** Threads for calls. Streams that wait for their receivers do not use them. */
  private static final int THREADS = 128;

  /** Calls whose requests or responses have megabytes. */
  private static final Set<String> LARGE =
      Set.of(
          "tensorflow_ignite.v1.FileService/ReadBlocks",
          "tensorflow_ignite.v1.FileService/PutBlocks",
          "tensorflow_ignite.v1.FileService/ListDirectory");

  /** One thread for them for this part of the heap: each has some copies of a block. */
  private static final long HEAP_PER_LARGE = 32L << 20;

  private static final int MIN_LARGE_THREADS = 4;

  /** Two blocks of a file: the next block arrives while the last one is stored. */
  private static final int WINDOW_BYTES = 4 << 20;

  private final Server server;
  private final ExecutorService calls;
  private final ExecutorService largeCalls;
  private final CallLimits limits;
  private final ResponseMemory responses;

  private ApiServer(
      Server server,
      ExecutorService calls,
      ExecutorService largeCalls,
      CallLimits limits,
      ResponseMemory responses) {
    this.server = server;
    this.calls = calls;
    this.largeCalls = largeCalls;
    this.limits = limits;
    this.responses = responses;
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @param tls the context of encrypted connections; empty: connections are not encrypted
   * @param interceptors the interceptors of every call, in the order of their calls
   */
  public static ApiServer start(
      String host,
      int firstPort,
      int lastPort,
      BatchLimits batches,
      IgniteLogger log,
      Optional<SslContext> tls,
      List<ServerInterceptor> interceptors,
      List<? extends BindableService> services) {
    long heap = Runtime.getRuntime().maxMemory();
    ExecutorService calls = IdleThreads.pool("tensorflow-ignite-api-%d", THREADS);
    ExecutorService largeCalls = IdleThreads.pool("tensorflow-ignite-block-%d", largeThreads());
    CallLimits limits = new CallLimits();
    ConnectionTracker connections = new ConnectionTracker();
    RateLimitedLog limitedLog = new RateLimitedLog(log);
    ErrorInterceptor errors = new ErrorInterceptor(limitedLog);
    RequestMemoryLimits requests =
        new RequestMemoryLimits(
            batches.batch, batches.incomplete(), heap, System::nanoTime, limitedLog);
    ResponseMemory responses = new ResponseMemory(heap, largeCalls, limits.clock(), limitedLog);
    GrpcLogFilter.install();
    IOException last = null;
    for (int port = firstPort; port <= lastPort; port++) {
      NettyServerBuilder builder =
          NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
              .executor(calls)
              .callExecutor(
                  new ServerCallExecutorSupplier() {
                    @Override
                    public <Q, R> Executor getExecutor(ServerCall<Q, R> call, Metadata headers) {
                      return LARGE.contains(call.getMethodDescriptor().getFullMethodName())
                          ? largeCalls
                          : calls;
                    }
                  })
              .maxInboundMessageSize((int) Math.min(batches.batch, Integer.MAX_VALUE))
              .addStreamTracerFactory(requests)
              .addTransportFilter(limits)
              .addTransportFilter(connections)
              // Our clients do not compress, and a small compressed message may become large.
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
              .permitKeepAliveWithoutCalls(true);
      tls.ifPresent(builder::sslContext);
      for (BindableService service : services) {
        builder.addService(
            MalformedRequests.of(
                ServerInterceptors.interceptForward(
                    ServerInterceptors.intercept(
                        service, connections, limits, errors, responses, requests),
                    interceptors)));
      }
      try {
        return new ApiServer(builder.build().start(), calls, largeCalls, limits, responses);
      } catch (IOException e) {
        last = e;
      }
    }
    calls.shutdownNow();
    largeCalls.shutdownNow();
    limits.close();
    throw new TensorFlowIgniteException(
        ERROR_CODE_INTERNAL_ERROR,
        String.format(
            "The node API could not bind a port of %s in the range %d..%d: %s. The node API needs"
                + " one free port of this range. Free a port, or set tensorflow.ignite.host and"
                + " tensorflow.ignite.port on this node.",
            host, firstPort, lastPort, last == null ? "no port" : last.getMessage()),
        last);
  }

  static int largeThreads() {
    long threads = Runtime.getRuntime().maxMemory() / HEAP_PER_LARGE;
    return (int) Math.min(THREADS, Math.max(MIN_LARGE_THREADS, threads));
  }

  public int port() {
    return server.getPort();
  }

  /** For the calls of other protocols: their responses take memory of the same heap. */
  public ResponseMemory responses() {
    return responses;
  }

  /** Ends running calls after 2 s. */
  @Override
  public void close() {
    server.shutdown();
    try {
      if (!server.awaitTermination(CLOSE_TIMEOUT_S, TimeUnit.SECONDS)) {
        server.shutdownNow().awaitTermination(CLOSE_TIMEOUT_S, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
    }
    calls.shutdownNow();
    largeCalls.shutdownNow();
    limits.close();
  }
}
