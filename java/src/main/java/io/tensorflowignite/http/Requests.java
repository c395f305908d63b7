package io.tensorflowignite.http;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.security.tls.ForwardedCertificates;
import io.tensorflowignite.serving.json.ServingPath;
import io.tensorflowignite.v1.GetMetricsRequest;
import io.tensorflowignite.v1.MetricsServiceGrpc;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.security.cert.Certificate;
import java.security.cert.CertificateEncodingException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.apache.ignite.IgniteLogger;

/** Receives requests: their bodies once their callers may call the model. */
final class Requests implements Handler<HttpServerRequest> {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String OPEN_METRICS =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";

  /** Of the request of a call of the page. */
  private static final long CALL_BYTES = 64 << 10;

  private final Vertx vertx;
  private final BodyMemory bodies;
  private final Channel services;
  private final HealthApi health;
  private final ServingApi serving;
  private final Executor executor;
  private final PageApi page;
  private final Executor pageExecutor;
  private final BrowserRule browsers;
  private final AtomicInteger streams = new AtomicInteger();
  private final RateLimitedLog log;

  /**
   * @param executor for predictions and metrics
   * @param pageExecutor for the page, whose calls may wait for caches
   */
  Requests(
      Vertx vertx,
      BodyMemory bodies,
      Channel services,
      HealthApi health,
      Executor executor,
      Executor pageExecutor,
      BrowserRule browsers,
      IgniteLogger log) {
    this.vertx = vertx;
    this.bodies = bodies;
    this.services = services;
    this.health = health;
    this.serving = new ServingApi(services, executor);
    this.executor = executor;
    this.page = new PageApi(services, pageExecutor);
    this.pageExecutor = pageExecutor;
    this.browsers = browsers;
    this.log = new RateLimitedLog(log);
  }

  @Override
  public void handle(HttpServerRequest request) {
    String path = request.path() == null ? "" : request.path();
    Optional<HttpAnswer> file = reads(request) ? PageFiles.of(path) : Optional.empty();
    boolean isCall = path.startsWith(PageApi.PREFIX);
    Map<String, String> headers =
        file.isPresent()
            ? PageFiles.FILE_HEADERS
            : isCall ? PageFiles.DATA_HEADERS : Map.<String, String>of();
    Exchange exchange =
        new Exchange(request, vertx, bodies, isCall ? pageExecutor : executor, log, headers);
    try {
      if (file.isPresent()) {
        discard(request, exchange, file.get());
      } else if (isCall) {
        receiveCall(request, exchange);
      } else {
        receive(request, exchange);
      }
    } catch (RuntimeException e) {
      discard(request, exchange, exchange.failure(e));
    }
  }

  /** The answer to HEAD is that to GET, of which Vert.x sends no body. */
  private static boolean reads(HttpServerRequest request) {
    return request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
  }

  private void receive(HttpServerRequest request, Exchange exchange) {
    if (request.path() == null) {
      discard(request, exchange, HttpAnswer.error(400, "Malformed request: " + request.uri()));
      return;
    }
    boolean isGet = reads(request);
    if (isGet && request.path().equals(HealthApi.LIVE)) {
      discard(request, exchange, health.live());
      return;
    }
    if (isGet && request.path().equals(HealthApi.READY)) {
      request.exceptionHandler(exchange::drop);
      request.endHandler(end -> exchange.received());
      exchange.await(health.ready());
      return;
    }
    boolean isMetrics = isGet && request.path().equals("/metrics");
    Optional<ServingPath> path = ServingPath.parse(request.method().name(), request.path());
    if (!isMetrics && !path.isPresent()) {
      boolean isApi = request.path().startsWith("/v1/");
      discard(
          request,
          exchange,
          HttpAnswer.error(
              isApi ? 400 : 404, "Malformed request: " + request.method() + " " + request.path()));
      return;
    }
    long length = length(request);
    if (length > bodies.limit()) {
      discard(
          request, exchange, HttpAnswer.error(413, BodyMemory.tooLarge(length, bodies.limit())));
      return;
    }
    Metadata credentials = credentials(request);
    if (isMetrics || !path.get().method.hasBody()) {
      request.exceptionHandler(exchange::drop);
      request.endHandler(end -> exchange.received());
      exchange.work(
          () -> isMetrics ? metrics(credentials) : serving.answer(path.get(), credentials));
      return;
    }
    String encoding = request.getHeader("Content-Encoding");
    if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
      throw new RefusedException(
          415,
          String.format(
              "The body is compressed (Content-Encoding: %.50s). A node takes JSON as it is. Send"
                  + " the body without compression",
              encoding));
    }
    // A body is received of callers only that may call the model.
    request.pause();
    request.exceptionHandler(exchange::drop);
    exchange.prepare(
        () -> serving.metadata(path.get().model, credentials),
        metadata ->
            receiveBody(
                request,
                exchange,
                bodies.limit(),
                body ->
                    exchange.work(
                        () -> serving.answer(path.get(), metadata, body, credentials, exchange))));
  }

  private void receiveCall(HttpServerRequest request, Exchange exchange) {
    browsers.check(request);
    MethodDescriptor<?, ?> method = PageApi.method(request.path());
    Metadata credentials = credentials(request);
    request.exceptionHandler(exchange::drop);
    receiveBody(
        request,
        exchange,
        CALL_BYTES,
        body -> {
          if (method.getType().serverSendsOneMessage()) {
            exchange.work(() -> page.answer(method, body, credentials));
          } else {
            JsonStream stream =
                new JsonStream(exchange, request.response(), bodies, vertx, streams);
            exchange.stream(() -> page.send(method, body, credentials, stream));
          }
        });
  }

  private void receiveBody(
      HttpServerRequest request, Exchange exchange, long limit, Consumer<byte[]> next) {
    if (exchange.isOver()) {
      return;
    }
    if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      request.response().writeContinue();
    }
    Buffer body = Buffer.buffer();
    request.handler(
        chunk -> {
          if (exchange.isOver()) {
            return;
          }
          long length = body.length() + (long) chunk.length();
          if (length > limit) {
            exchange.refuse(HttpAnswer.error(413, BodyMemory.tooLarge(length, limit)));
          } else if (!exchange.hold(chunk.length()) || !append(body, chunk)) {
            exchange.refuse(HttpAnswer.error(429, bodies.tooMany()));
          }
        });
    request.endHandler(
        end -> {
          exchange.received();
          if (!exchange.isOver()) {
            next.accept(body.getBytes());
          }
        });
    request.resume();
  }

  /** Vert.x would go on without the chunk. */
  private static boolean append(Buffer body, Buffer chunk) {
    try {
      body.appendBuffer(chunk);
      return true;
    } catch (OutOfMemoryError e) {
      return false;
    }
  }

  static void discard(HttpServerRequest request, Exchange exchange, HttpAnswer answer) {
    request.exceptionHandler(exchange::drop);
    exchange.refuse(answer);
  }

  private static long length(HttpServerRequest request) {
    String text = request.getHeader("Content-Length");
    try {
      return text == null ? 0 : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  private static Metadata credentials(HttpServerRequest request) {
    Metadata credentials = new Metadata();
    String authorization = request.getHeader("Authorization");
    if (authorization != null) {
      credentials.put(AUTHORIZATION, authorization);
    }
    SocketAddress client = request.remoteAddress();
    credentials.put(ForwardedCertificates.ADDRESS, client.hostAddress() + " " + client.port());
    if (request.isSSL()) {
      try {
        Certificate[] chain = request.sslSession().getPeerCertificates();
        credentials.put(ForwardedCertificates.CERTIFICATE, chain[0].getEncoded());
      } catch (SSLPeerUnverifiedException e) {
        // It has shown none.
      } catch (CertificateEncodingException e) {
        throw new IllegalStateException(e);
      }
    }
    return credentials;
  }

  private ListenableFuture<HttpAnswer> metrics(Metadata credentials) {
    return Futures.transform(
        ServingApi.with(MetricsServiceGrpc.newFutureStub(services), credentials)
            .getMetrics(GetMetricsRequest.getDefaultInstance()),
        response -> new HttpAnswer(200, OPEN_METRICS, response.getOpenMetrics().toStringUtf8()),
        MoreExecutors.directExecutor());
  }
}
