package io.tensorflowignite.rpc;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.function.Supplier;

/**
 * Sends the messages of one stream as fast as the receiver accepts them, without a waiting thread:
 * gRPC calls this sender when the receiver is ready. One message is prefetched, so that the next
 * one is available when the last one has been sent.
 */
public final class StreamSender<M> {
  private final ServerCallStreamObserver<M> call;
  private final Supplier<M> source;
  private M prefetched;
  private boolean ended;

  private StreamSender(ServerCallStreamObserver<M> call, Supplier<M> source) {
    this.call = call;
    this.source = source;
  }

  /**
   * Starts to send. The service's method must call this.
   *
   * @param source returns the next message; null after the last one
   */
  public static <M> void send(ServerCallStreamObserver<M> call, Supplier<M> source) {
    StreamSender<M> sender = new StreamSender<>(call, source);
    call.setOnCancelHandler(sender::end);
    call.setOnReadyHandler(sender::run);
    sender.prefetch();
  }

  private void run() {
    while (!ended && call.isReady()) {
      call.onNext(prefetched);
      prefetch();
    }
  }

  private void prefetch() {
    prefetched = null;
    if (call.isCancelled()) {
      ended = true;
      return;
    }
    prefetched = source.get();
    if (prefetched == null) {
      ended = true;
      call.onCompleted();
    }
  }

  private void end() {
    ended = true;
    prefetched = null;
  }
}
