package io.tensorflowignite.api;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.RareLog;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Lets an own thread of one streaming call wait for its receiver and for news. It is not the thread
 * that the call came in on: on that one the call also tells that its receiver is ready.
 */
final class CallFlow {
  /** A missed wake-up costs no more. */
  private static final long TICK_MS = 1_000;

  private final ServerCallStreamObserver<?> call;
  private final RareLog log;
  private final Semaphore wakeUps = new Semaphore(0);

  /** What answers a call. */
  interface Answer {
    void send(CallFlow flow) throws InterruptedException;
  }

  private CallFlow(ServerCallStreamObserver<?> call, RareLog log) {
    this.call = call;
    this.log = log;
  }

  /** Answers a call in an own thread, which ends with the call; from within its method. */
  static void serve(ServerCallStreamObserver<?> call, RareLog log, Answer answer) {
    CallFlow flow = new CallFlow(call, log);
    call.setOnReadyHandler(flow::wake);
    call.setOnCancelHandler(flow::wake);
    Thread thread = new Thread(() -> flow.run(answer), "tensorflow-ignite-stream");
    thread.setDaemon(true);
    thread.start();
  }

  private void run(Answer answer) {
    try {
      answer.send(this);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      if (!call.isCancelled()) {
        Status status = Statuses.of(e);
        if (status.getCode() == Status.Code.INTERNAL) {
          log.error("Streaming call failed", e);
        }
        call.onError(status.asRuntimeException());
      }
    }
  }

  void wake() {
    wakeUps.release();
  }

  /** Returns when the receiver can take more; false when there is none any more. */
  boolean awaitReady() throws InterruptedException {
    while (!call.isReady() && !call.isCancelled()) {
      awaitNews(TICK_MS);
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
}
