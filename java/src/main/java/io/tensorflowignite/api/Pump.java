package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.function.Supplier;

/**
 * Sends the messages of one stream as fast as their receiver takes them, and holds no thread while
 * it waits: the call itself tells when its receiver is ready, on the thread that a waiting sender
 * would block. One message is made ahead, so that the next is there when the last has gone.
 */
public final class Pump<M> {
  private final ServerCallStreamObserver<M> call;
  private final Supplier<M> source;
  private M ahead;
  private boolean ended;

  private Pump(ServerCallStreamObserver<M> call, Supplier<M> source) {
    this.call = call;
    this.source = source;
  }

  /**
   * Answers a call; from within its method.
   *
   * @param source makes the next message; null: there is none any more
   */
  public static <M> void send(ServerCallStreamObserver<M> call, Supplier<M> source) {
    Pump<M> pump = new Pump<>(call, source);
    call.setOnCancelHandler(pump::end);
    call.setOnReadyHandler(pump::run);
    pump.make();
  }

  private void run() {
    while (!ended && call.isReady()) {
      call.onNext(ahead);
      make();
    }
  }

  private void make() {
    ahead = null;
    if (call.isCancelled()) {
      ended = true;
      return;
    }
    ahead = source.get();
    if (ahead == null) {
      ended = true;
      call.onCompleted();
    }
  }

  private void end() {
    ended = true;
    ahead = null;
  }
}
