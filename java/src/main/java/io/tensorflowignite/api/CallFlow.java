package io.tensorflowignite.api;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Lets the thread of one streaming call wait for its receiver and for news; ends with the call. */
final class CallFlow implements AutoCloseable {
  /** A missed wake-up costs no more. */
  private static final long TICK_MS = 1_000;

  private static final long READY_TICK_MS = 2;

  private final ServerCallStreamObserver<?> call;
  private final Semaphore wakeUps = new Semaphore(0);

  CallFlow(ServerCallStreamObserver<?> call) {
    this.call = call;
    call.setOnReadyHandler(this::wake);
    call.setOnCancelHandler(this::wake);
  }

  void wake() {
    wakeUps.release();
  }

  /**
   * Returns when the receiver can take more; false when there is none any more. It has to look: a
   * call's handlers run one after the other, so none tells of it while this one waits.
   */
  boolean awaitReady() throws InterruptedException {
    while (!call.isReady() && !call.isCancelled()) {
      Thread.sleep(READY_TICK_MS);
    }
    return !call.isCancelled();
  }

  void awaitNews() throws InterruptedException {
    awaitNews(TICK_MS);
  }

  void awaitNews(long atMostMs) throws InterruptedException {
    wakeUps.tryAcquire(atMostMs, TimeUnit.MILLISECONDS);
    wakeUps.drainPermits();
  }

  @Override
  public void close() {
    wakeUps.drainPermits();
  }
}
