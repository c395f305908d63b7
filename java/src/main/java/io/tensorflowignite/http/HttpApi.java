package io.tensorflowignite.http;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.SslContext;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.rpc.InProcessApi;
import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.Verticle;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.apache.ignite.IgniteLogger;

/**
 * The HTTP port of a node: its server, threads and connections. Two threads receive and send; JSON
 * is converted, and calls are made, on an executor. A client that sends or receives slowly holds no
 * thread, and its bytes count.
 */
public final class HttpApi implements AutoCloseable {
  private static final int IO_THREADS = 2;

  /** They convert JSON, and begin calls; none waits for a model. */
  private static final int THREADS = 8;

  /** The calls of the page, which may wait for caches; predictions do not wait for them. */
  private static final int PAGE_THREADS = 4;

  static final int MAX_WAITING = 2_000;
  static final String TOO_MANY =
      MAX_WAITING + " requests wait on this node. Send the request again later";

  static final int MAX_CONNECTIONS = 4_000;
  private static final int START_TIMEOUT_S = 30;
  private static final int CLOSE_TIMEOUT_S = 2;
  private static final int BACKLOG = 1024;

  /** Any free port, the same for all servers of one Vert.x. */
  private static final int SHARED_FREE_PORT = -1;

  /** The fastest: one of the two threads compresses, and serves no other request meanwhile. */
  private static final int COMPRESSION_LEVEL = 1;

  /** A connection on which nothing moves for this time is closed. */
  private static final int IDLE_S = 60;

  private final Vertx vertx;
  private final int port;
  private final InProcessApi services;
  private final HealthApi health;
  private final List<ExecutorService> executors;

  private HttpApi(
      Vertx vertx,
      int port,
      InProcessApi services,
      HealthApi health,
      List<ExecutorService> executors) {
    this.vertx = vertx;
    this.port = port;
    this.services = services;
    this.health = health;
    this.executors = executors;
  }

  /**
   * Binds the first free port of the range; port 0 is any free port.
   *
   * @param tls the context of encrypted connections; empty: connections are not encrypted
   * @param clientCertificates whether clients need a certificate
   * @param services answer the calls; closed with the port
   * @param health answers without authentication
   * @param hosts names by which a browser may call this node
   */
  public static HttpApi start(
      String host,
      int firstPort,
      int lastPort,
      Optional<SslContext> tls,
      boolean clientCertificates,
      BodyMemory bodies,
      InProcessApi services,
      NodeHealth health,
      Predicate<String> hosts,
      IgniteLogger log) {
    Vertx vertx = vertx();
    ExecutorService executor = IdleThreads.pool("tensorflow-ignite-http-%d", THREADS, MAX_WAITING);
    ExecutorService pageExecutor =
        IdleThreads.pool("tensorflow-ignite-page-%d", PAGE_THREADS, MAX_WAITING);
    List<ExecutorService> executors = List.of(executor, pageExecutor);
    HealthApi checks = new HealthApi(vertx, health, log);
    Requests requests =
        new Requests(
            vertx,
            bodies,
            services.channel(),
            checks,
            executor,
            pageExecutor,
            new BrowserRule(hosts),
            log);
    HttpServerOptions options =
        new HttpServerOptions()
            .setAcceptBacklog(BACKLOG)
            .setIdleTimeout(IDLE_S)
            .setHttp2ClearTextEnabled(false)
            .setUseAlpn(false)
            .setHandle100ContinueAutomatically(false)
            .setCompressionSupported(true)
            .setCompressionLevel(COMPRESSION_LEVEL)
            .setDecompressionSupported(false);
    tls.ifPresent(
        context ->
            options
                .setSsl(true)
                .setClientAuth(clientCertificates ? ClientAuth.REQUIRED : ClientAuth.NONE)
                .setKeyCertOptions(NodeSslOptions.keys())
                .setSslEngineOptions(new NodeSslOptions(context)));
    try {
      int port = listen(vertx, options, requests, host, firstPort, lastPort);
      return new HttpApi(vertx, port, services, checks, executors);
    } catch (RuntimeException e) {
      vertx.close();
      services.close();
      checks.close();
      executors.forEach(ExecutorService::shutdownNow);
      throw e;
    }
  }

  /** Vert.x finds its classes by the loader of the thread, which a thread of a node may lack. */
  private static Vertx vertx() {
    Thread thread = Thread.currentThread();
    ClassLoader loader = thread.getContextClassLoader();
    thread.setContextClassLoader(HttpApi.class.getClassLoader());
    try {
      return Vertx.vertx(
          new VertxOptions()
              .setEventLoopPoolSize(IO_THREADS)
              .setWorkerPoolSize(1)
              .setInternalBlockingPoolSize(1)
              .setFileSystemOptions(
                  new FileSystemOptions()
                      .setFileCachingEnabled(false)
                      .setClassPathResolvingEnabled(false)));
    } finally {
      thread.setContextClassLoader(loader);
    }
  }

  private static int listen(
      Vertx vertx,
      HttpServerOptions options,
      Handler<HttpServerRequest> requests,
      String host,
      int firstPort,
      int lastPort) {
    Connections connections = new Connections();
    Throwable last = null;
    for (int port = firstPort; port <= lastPort; port++) {
      int requested = port == 0 ? SHARED_FREE_PORT : port;
      AtomicInteger bound = new AtomicInteger();
      try {
        vertx
            .deployVerticle(
                () -> listener(options, connections, requests, host, requested, bound),
                new DeploymentOptions().setInstances(IO_THREADS))
            .toCompletionStage()
            .toCompletableFuture()
            .get(START_TIMEOUT_S, TimeUnit.SECONDS);
        return bound.get();
      } catch (ExecutionException e) {
        last = e.getCause();
      } catch (TimeoutException e) {
        last = e;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while the HTTP port opens", e);
      }
    }
    throw new TensorFlowIgniteException(
        ERROR_CODE_INVALID_REQUEST,
        String.format(
            "The node cannot open its HTTP port, one of %s:%d..%d: %s. It needs a free port, and"
                + " only root may open those below 1024. Set tensorflow.ignite.http.port to another"
                + " port or range, or end what uses it.",
            host, firstPort, lastPort, last),
        last);
  }

  public int port() {
    return port;
  }

  @Override
  public void close() {
    services.close();
    health.close();
    executors.forEach(ExecutorService::shutdownNow);
    try {
      vertx
          .close()
          .toCompletionStage()
          .toCompletableFuture()
          .get(CLOSE_TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      // Its threads are daemons of this node; connections end with it.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A server on one thread; Vert.x gives each a part of the connections of their port. */
  private static Verticle listener(
      HttpServerOptions options,
      Connections connections,
      Handler<HttpServerRequest> requests,
      String host,
      int port,
      AtomicInteger bound) {
    return new AbstractVerticle() {
      @Override
      public void start(Promise<Void> started) {
        vertx
            .createHttpServer(options)
            .connectionHandler(connections)
            .requestHandler(requests)
            .listen(port, host)
            .onSuccess(server -> bound.set(server.actualPort()))
            .<Void>mapEmpty()
            .onComplete(started);
      }
    };
  }

  /** Closes connections beyond their largest number, and guards the other connections. */
  private static final class Connections implements Handler<HttpConnection> {
    private final AtomicInteger open = new AtomicInteger();

    @Override
    public void handle(HttpConnection connection) {
      ChannelHandlerContext vertx = ((HttpServerConnection) connection).channelHandlerContext();
      if (open.incrementAndGet() > MAX_CONNECTIONS) {
        vertx.close();
      } else {
        vertx.pipeline().addBefore(vertx.name(), "guard", new ConnectionGuard());
      }
      // Vert.x does not report the end of each connection.
      vertx.channel().closeFuture().addListener(closed -> open.decrementAndGet());
    }
  }
}
