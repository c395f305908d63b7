package io.tensorflowignite.http;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Limits what one connection may hold. Vert.x takes all requests that a client sends, also while
 * the client reads no answer. Here the next request reaches Vert.x when the answer before it has
 * been sent; until then the node does not read from the connection. All methods run on the event
 * loop of the connection.
 */
final class ConnectionGuard extends ChannelDuplexHandler {
  /** The head of a request must have arrived this long after the request before it is over. */
  private static final long HEAD_S = 60;

  /** Decoded beyond the present request: what one read of the socket has brought, or two. */
  private final Deque<Object> waiting = new ArrayDeque<>();

  private boolean isAnswering;

  /** The connection ends with the answer to the present request. */
  private boolean isLast;

  /** More has come after the last request. */
  private boolean isOver;

  private Future<?> headTimer;

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    awaitHead(ctx);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    isOver |= isLast && message instanceof HttpRequest;
    if (isOver) {
      // Vert.x would drop it too, and keep its memory.
      ReferenceCountUtil.release(message);
    } else if (waiting.isEmpty() && mayPass(message)) {
      pass(ctx, message);
    } else {
      waiting.add(message);
      ctx.channel().config().setAutoRead(false);
    }
  }

  private boolean mayPass(Object message) {
    return !(isAnswering && message instanceof HttpRequest);
  }

  private void pass(ChannelHandlerContext ctx, Object message) {
    if (message instanceof HttpRequest) {
      isAnswering = true;
      isLast = !isKeptAlive((HttpRequest) message);
      headTimer.cancel(false);
    }
    ctx.fireChannelRead(message);
  }

  /** As Vert.x decides it. */
  private static boolean isKeptAlive(HttpRequest request) {
    HttpVersion version = request.protocolVersion();
    HttpHeaders headers = request.headers();
    return version.equals(HttpVersion.HTTP_1_1)
        ? !headers.contains(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)
        : version.equals(HttpVersion.HTTP_1_0)
            && headers.contains(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE, true);
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
    if (message instanceof LastHttpContent && !isInformational(message)) {
      // Later, and not within the write: answers to many requests would nest too deep.
      ctx.write(message, promise.unvoid())
          .addListener(sent -> ctx.executor().execute(() -> answered(ctx, sent.isSuccess())));
    } else {
      ctx.write(message, promise);
    }
  }

  private static boolean isInformational(Object message) {
    return message instanceof HttpResponse
        && ((HttpResponse) message).status().codeClass() == HttpStatusClass.INFORMATIONAL;
  }

  private void answered(ChannelHandlerContext ctx, boolean isSent) {
    if (!isAnswering || !ctx.channel().isActive()) {
      return;
    }
    if (!isSent) {
      // The next answer would be taken for the rest of this one.
      ctx.close();
      return;
    }
    isAnswering = false;
    awaitHead(ctx);
    if (waiting.isEmpty()) {
      return;
    }
    // Before the bytes are passed: if Vert.x then pauses the connection, it stays paused.
    ctx.channel().config().setAutoRead(true);
    while (!waiting.isEmpty() && mayPass(waiting.peek())) {
      pass(ctx, waiting.poll());
    }
    if (!waiting.isEmpty()) {
      ctx.channel().config().setAutoRead(false);
    }
    ctx.fireChannelReadComplete();
  }

  private void awaitHead(ChannelHandlerContext ctx) {
    headTimer = ctx.executor().schedule(() -> ctx.close(), HEAD_S, TimeUnit.SECONDS);
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    headTimer.cancel(false);
    release();
    ctx.fireChannelInactive();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    headTimer.cancel(false);
    release();
  }

  private void release() {
    waiting.forEach(ReferenceCountUtil::release);
    waiting.clear();
  }
}
