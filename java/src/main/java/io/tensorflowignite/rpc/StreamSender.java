package io.tensorflowignite.rpc;

import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Sends the messages of one stream as fast as the receiver accepts them, without a waiting thread:
 * gRPC calls this sender when the receiver is ready. A message is made when the receiver is ready
 * for it, and there is memory for it.
 */
public final class StreamSender<M> {
  private final ServerCallStreamObserver<M> call;
  private final BooleanSupplier hasNext;
  private final Supplier<M> source;
  private final long bytes;

  /** Null: the messages are small. */
  private final ResponseMemory.OpenCall memory;

  private boolean asks;
  private boolean ended;

  private StreamSender(
      ServerCallStreamObserver<M> call, long bytes, BooleanSupplier hasNext, Supplier<M> source) {
    this.call = call;
    this.hasNext = hasNext;
    this.source = source;
    this.bytes = bytes;
    this.memory = bytes == 0 ? null : ResponseMemory.current();
  }

  /**
   * Sends small messages. The service's method must call this.
   *
   * @param source returns the next message; null after the last one
   */
  public static <M> void send(ServerCallStreamObserver<M> call, Supplier<M> source) {
    sendLarge(call, 0, () -> true, source);
  }

  /**
   * Sends messages that take much memory. The service's method must call this.
   *
   * @param bytes the usual size of a message
   * @param hasNext whether there may be another message; without, the call ends with the last one
   * @param source returns the next message; null after the last one
   */
  public static <M> void sendLarge(
      ServerCallStreamObserver<M> call, long bytes, BooleanSupplier hasNext, Supplier<M> source) {
    StreamSender<M> sender = new StreamSender<>(call, bytes, hasNext, source);
    call.setOnCancelHandler(sender::end);
    call.setOnReadyHandler(sender::run);
  }

  private synchronized void run() {
    while (!ended && !asks && call.isReady()) {
      if (memory == null) {
        sendNext();
      } else if (memory.admit(bytes, Context.current().wrap(this::resume))) {
        sendAdmitted();
      } else {
        asks = true;
      }
    }
  }

  /** Runs on another thread than the call's own, with memory for one message. */
  private synchronized void resume() {
    asks = false;
    try {
      sendAdmitted();
      run();
    } catch (RuntimeException e) {
      ended = true;
      ErrorStatuses.end(call, e);
      if (ErrorStatuses.of(e).getCode() == Status.Code.INTERNAL) {
        throw e;
      }
    } catch (Error e) {
      // Without an answer the caller would wait forever.
      ended = true;
      ErrorStatuses.end(call, new IllegalStateException(e));
      throw e;
    }
  }

  private void sendAdmitted() {
    try {
      if (!ended && call.isReady()) {
        sendNext();
      }
    } finally {
      memory.releaseAdmitted();
    }
  }

  private void sendNext() {
    M message = call.isCancelled() ? null : source.get();
    if (message != null) {
      call.onNext(message);
      if (hasNext.getAsBoolean()) {
        return;
      }
    }
    ended = true;
    if (!call.isCancelled()) {
      call.onCompleted();
    }
  }

  private synchronized void end() {
    ended = true;
  }
}
