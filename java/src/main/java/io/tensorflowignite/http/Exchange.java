package io.tensorflowignite.http;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import io.grpc.Status;
import io.tensorflowignite.base.RateLimitedLog;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.impl.HttpServerConnection;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** One request and its answer; all methods but {@link #hold} run on its context. */
final class Exchange implements ServingApi.Memory {
  /** A request that has not arrived after this time is refused. */
  private static final long RECEIVE_MS = 60_000;

  /**
   * After a refused request, received bytes are dropped, and the connection is closed if the client
   * sends nothing for this time.
   */
  static final long LINGER_MS = 5_000;

  /** A client that has not taken a part of its answer after this time gets no more. */
  static final long SEND_MS = 60_000;

  static final int PART_BYTES = 128 << 10;

  /** Java's own format of RFC 1123 writes one digit on the first nine days of a month. */
  private static final DateTimeFormatter DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US)
          .withZone(ZoneOffset.UTC);

  /** Smaller answers, and errors, are not counted. */
  private static final long SMALL_BYTES = 4_096;

  private final Vertx vertx;
  private final BodyMemory bodies;
  private final Executor executor;
  private final RateLimitedLog log;
  private final HttpServerRequest request;
  private final Context context;
  private final AtomicBoolean isOver = new AtomicBoolean();
  private final long timer;
  private final AtomicLong held = new AtomicLong();

  /** Of the answer, whatever it is. */
  private final Map<String, String> headers;

  private boolean isWorking;
  private long linger = -1;

  Exchange(
      HttpServerRequest request,
      Vertx vertx,
      BodyMemory bodies,
      Executor executor,
      RateLimitedLog log,
      Map<String, String> headers) {
    this.headers = headers;
    this.request = request;
    this.vertx = vertx;
    this.bodies = bodies;
    this.executor = executor;
    this.log = log;
    this.context = vertx.getOrCreateContext();
    timer =
        vertx.setTimer(
            RECEIVE_MS,
            id ->
                refuse(
                    HttpAnswer.error(
                        408,
                        "The request has not arrived after "
                            + RECEIVE_MS / 1_000
                            + " s. Send it again")));
    request.response().closeHandler(closed -> drop(null));
  }

  boolean isOver() {
    return isOver.get();
  }

  @Override
  public boolean hold(long bytes) {
    if (!bodies.reserve(bytes)) {
      return false;
    }
    held.addAndGet(bytes);
    return true;
  }

  void received() {
    vertx.cancelTimer(timer);
    vertx.cancelTimer(linger);
  }

  /** Makes a call whose result decides whether the body is received. */
  <T> void prepare(Supplier<ListenableFuture<T>> call, Consumer<T> next) {
    call(
        call,
        result -> next.accept(result),
        error -> Requests.discard(request, this, failure(error)));
  }

  /** Makes the call that answers. Until its end, the bytes of the body are held. */
  void work(Supplier<ListenableFuture<HttpAnswer>> call) {
    isWorking = true;
    call(
        () -> isOver() ? Futures.immediateFailedFuture(new CancellationException()) : call.get(),
        this::finish,
        error -> finish(failure(error)));
  }

  /** Answers with a result that is made elsewhere, also while the executor is full. */
  void await(CompletableFuture<HttpAnswer> result) {
    isWorking = true;
    result.thenAccept(answer -> context.runOnContext(none -> finish(answer)));
  }

  /** Begins a stream on the executor. The stream answers; if it cannot begin, this answers. */
  void stream(Runnable begin) {
    call(
        () -> {
          begin.run();
          return Futures.immediateFuture(null);
        },
        begun -> {},
        error -> finish(failure(error)));
  }

  /** Runs a call on the executor, and its callback on the context of the request. */
  private <T> void call(
      Supplier<ListenableFuture<T>> call, Consumer<T> success, Consumer<Throwable> failure) {
    FutureCallback<T> callback =
        new FutureCallback<T>() {
          @Override
          public void onSuccess(T result) {
            context.runOnContext(none -> success.accept(result));
          }

          @Override
          public void onFailure(Throwable error) {
            context.runOnContext(none -> failure.accept(error));
          }
        };
    try {
      executor.execute(
          () -> {
            ListenableFuture<T> result;
            try {
              result = call.get();
            } catch (Throwable e) {
              callback.onFailure(e);
              return;
            }
            // The callbacks only enqueue the answer; a full executor would lose it.
            Futures.addCallback(result, callback, MoreExecutors.directExecutor());
          });
    } catch (RejectedExecutionException e) {
      callback.onFailure(e);
    }
  }

  private void finish(HttpAnswer answer) {
    isWorking = false;
    write(answer);
  }

  /**
   * Answers before the whole request has arrived. The rest of the request is dropped for up to 60
   * s, since most clients read the answer only when they have sent all.
   */
  void refuse(HttpAnswer answer) {
    if (!request.isEnded()) {
      // The handlers of a body keep the part that has arrived.
      request.handler(null);
      request.endHandler(end -> received());
    }
    write(answer);
    request.resume();
  }

  /** Ends a connection whose client still sends the request that has been answered. */
  private void closeWhenSilent(long checks, long before) {
    linger =
        vertx.setTimer(
            LINGER_MS,
            id -> {
              long now = request.bytesRead();
              if (checks > 1 && now > before) {
                closeWhenSilent(checks - 1, now);
              } else {
                request.connection().close();
              }
            });
  }

  /** The answer to a request that has failed. */
  HttpAnswer failure(Throwable error) {
    if (error instanceof RefusedException) {
      return HttpAnswer.error(((RefusedException) error).status, error.getMessage());
    }
    if (error instanceof RejectedExecutionException) {
      return HttpAnswer.error(429, HttpApi.TOO_MANY);
    }
    Status status = Status.fromThrowable(error);
    if (status.getCode() == Status.Code.UNKNOWN && !isOver()) {
      log.error("A request over HTTP has failed", error);
      status = Status.INTERNAL.withDescription("The node's log has the details of this error");
    }
    return HttpAnswer.error(status);
  }

  void drop(Throwable error) {
    if (isOver.compareAndSet(false, true)) {
      end();
    }
  }

  private void write(HttpAnswer answer) {
    if (!isOver.compareAndSet(false, true)) {
      release();
      return;
    }
    end();
    if (!request.isEnded()) {
      closeWhenSilent(RECEIVE_MS / LINGER_MS, request.bytesRead());
    }
    HttpAnswer sent = answer;
    // Until the client has taken it.
    long bytes = sent.body.length() <= SMALL_BYTES ? 0 : sent.body.length();
    if (!bodies.reserve(bytes)) {
      sent = HttpAnswer.error(429, bodies.tooMany());
      bytes = 0;
    }
    long reserved = bytes;
    Buffer body;
    try {
      body = Buffer.buffer(sent.body);
    } catch (OutOfMemoryError e) {
      bodies.release(reserved);
      closeAtOnce();
      return;
    }
    HttpServerResponse response = request.response();
    putHeaders();
    putChallenge(sent.status);
    if (sent.status == 405) {
      // The only method of calls of the page; nothing else answers with this status.
      response.putHeader("Allow", "POST");
    }
    response
        .setStatusCode(sent.status)
        .putHeader("Content-Type", sent.contentType)
        .putHeader("Content-Length", String.valueOf(body.length()));
    send(response, body, 0)
        .onComplete(
            done -> {
              bodies.release(reserved);
              if (done.failed()) {
                closeAtOnce();
              }
            });
  }

  void putHeaders() {
    headers.forEach(request.response()::putHeader);
    // The page compares times of jobs with it.
    request.response().putHeader("Date", date(Instant.now()));
  }

  /** A time as HTTP writes it. */
  static String date(Instant at) {
    return DATE.format(at);
  }

  /**
   * Says which credentials are missing. A browser that is asked for a password for the page's calls
   * would show a form of its own, and then send the password also for other pages.
   */
  void putChallenge(int status) {
    if (status == 401) {
      String scheme = headers.isEmpty() ? "Basic" : "Bearer";
      request.response().putHeader("WWW-Authenticate", scheme + " realm=\"tensorflow-ignite\"");
    }
  }

  /**
   * Lets a stream answer. False: the request has been answered.
   *
   * @param closed called when the client has gone
   */
  boolean endWith(Runnable closed) {
    if (!isOver.compareAndSet(false, true)) {
      return false;
    }
    isWorking = false;
    end();
    request.response().closeHandler(none -> closed.run());
    return true;
  }

  /** Sends a part when the client has taken the one before. */
  private Future<Void> send(HttpServerResponse response, Buffer body, int begin) {
    int end = Math.min(body.length(), begin + PART_BYTES);
    boolean isLast = end == body.length();
    Buffer part = body.slice(begin, end);
    long slow = vertx.setTimer(SEND_MS, id -> closeAtOnce());
    return (isLast ? response.end(part) : response.write(part))
        .onComplete(sent -> vertx.cancelTimer(slow))
        .compose(sent -> isLast ? Future.succeededFuture() : send(response, body, end));
  }

  /** Drops bytes that have not been sent; Vert.x itself would wait for them. */
  void closeAtOnce() {
    ((HttpServerConnection) request.connection()).channelHandlerContext().close();
  }

  private void end() {
    vertx.cancelTimer(timer);
    release();
  }

  private void release() {
    if (!isWorking) {
      bodies.release(held.getAndSet(0));
    }
  }
}
