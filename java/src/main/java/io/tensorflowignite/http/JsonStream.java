package io.tensorflowignite.http;

import com.google.protobuf.Message;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends the responses of one call as lines of JSON. It requests the next response when the client
 * has received the last line, so at most one response is in memory. If the call fails after the
 * first line, the last line is {@code {"error": TEXT}}. An empty line every 15 s shows that the
 * node still answers.
 */
final class JsonStream {
  /** Each has a connection, and most have a thread. */
  static final int MAX_STREAMS = 100;

  /** Less than the time after which a connection is closed on which nothing moves. */
  private static final long PULSE_MS = 15_000;

  private final Exchange exchange;
  private final HttpServerResponse response;
  private final BodyMemory bodies;
  private final Vertx vertx;
  private final Context context;
  private final AtomicInteger open;
  private ClientCall<?, ?> call;
  private Executor executor;
  private long pulse = -1;
  private boolean isSending;
  private boolean isOver;

  /** Set when the call has ended while a line was sent. */
  private Status end;

  /**
   * Must be made on the context of the request.
   *
   * @param open number of streams of this node
   */
  JsonStream(
      Exchange exchange,
      HttpServerResponse response,
      BodyMemory bodies,
      Vertx vertx,
      AtomicInteger open) {
    this.open = open;
    this.exchange = exchange;
    this.response = response;
    this.bodies = bodies;
    this.vertx = vertx;
    this.context = vertx.getOrCreateContext();
  }

  /** Begins the call, on a thread of the executor. */
  <Q, R> void send(ClientCall<Q, R> call, Q request, Metadata credentials, Executor executor) {
    if (open.incrementAndGet() > MAX_STREAMS) {
      open.decrementAndGet();
      throw new RefusedException(
          429,
          MAX_STREAMS
              + " streams from this node to pages are open; the page of a job has two. Close some"
              + " pages, or open the page of another node");
    }
    this.call = call;
    this.executor = executor;
    context.runOnContext(none -> open());
    call.start(new Lines<>(), credentials);
    call.sendMessage(request);
    call.halfClose();
    call.request(1);
  }

  private void open() {
    if (!exchange.endWith(this::close)) {
      close();
      return;
    }
    pulse = vertx.setPeriodic(PULSE_MS, id -> beat());
  }

  private void beat() {
    if (!isSending) {
      write(Buffer.buffer("\n"), 0, () -> {});
    }
  }

  private void line(Buffer line, long held) {
    if (isOver) {
      bodies.release(held);
      return;
    }
    write(line, held, this::next);
  }

  /**
   * Requests the next response. The method may then read files or caches, so this must not run on
   * the thread that serves all connections.
   */
  private void next() {
    try {
      executor.execute(() -> call.request(1));
    } catch (RejectedExecutionException e) {
      finish(Status.RESOURCE_EXHAUSTED.withDescription(HttpApi.TOO_MANY));
    }
  }

  private void write(Buffer line, long held, Runnable then) {
    isSending = true;
    begin();
    long slow = vertx.setTimer(Exchange.SEND_MS, id -> exchange.closeAtOnce());
    response
        .write(line)
        .onComplete(
            sent -> {
              vertx.cancelTimer(slow);
              bodies.release(held);
              isSending = false;
              if (sent.failed()) {
                close();
              } else if (end != null) {
                finish(end);
              } else {
                then.run();
              }
            });
  }

  private void begin() {
    if (!response.headWritten()) {
      exchange.putHeaders();
      // Not compressed: a line is sent at once.
      response
          .setChunked(true)
          .putHeader("Content-Type", "application/x-ndjson")
          .putHeader("Content-Encoding", "identity");
    }
  }

  private void finish(Status status) {
    if (isOver) {
      return;
    }
    if (isSending) {
      end = status;
      return;
    }
    close();
    HttpAnswer error = HttpAnswer.error(status);
    if (status.isOk()) {
      begin();
      response.end();
    } else if (response.headWritten()) {
      response.end(error.body + "\n");
    } else {
      exchange.putHeaders();
      exchange.putChallenge(error.status);
      response
          .setStatusCode(error.status)
          .putHeader("Content-Type", error.contentType)
          .end(error.body);
    }
  }

  /** The client has gone, or the answer is complete. */
  private void close() {
    if (!isOver) {
      isOver = true;
      open.decrementAndGet();
      vertx.cancelTimer(pulse);
      call.cancel("the client has gone, or the call has ended", null);
    }
  }

  /** Runs on threads of the call. */
  private final class Lines<R> extends ClientCall.Listener<R> {
    @Override
    public void onMessage(R message) {
      Buffer line = Buffer.buffer(PageApi.json((Message) message)).appendByte((byte) '\n');
      int bytes = line.length();
      if (!bodies.reserve(bytes)) {
        context.runOnContext(
            none -> finish(Status.RESOURCE_EXHAUSTED.withDescription(bodies.tooMany())));
        return;
      }
      context.runOnContext(none -> line(line, bytes));
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      context.runOnContext(none -> finish(status));
    }
  }
}
