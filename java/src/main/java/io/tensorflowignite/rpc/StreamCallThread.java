package io.tensorflowignite.rpc;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.base.RateLimitedLog;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The thread of one streaming call, which waits for the receiver and for changes. The call's own
 * thread must not wait: gRPC uses it to report that the receiver is ready.
 */
public final class StreamCallThread {
  /** The longest wait after a lost wake-up. */
  private static final long TICK_MS = 1_000;

  private final ServerCallStreamObserver<?> call;
  private final RateLimitedLog log;
  private final Semaphore wakeUps = new Semaphore(0);

  /** Sends the messages of a call. */
  public interface Answer {
    void send(StreamCallThread flow) throws InterruptedException;
  }

  private StreamCallThread(ServerCallStreamObserver<?> call, RateLimitedLog log) {
    this.call = call;
    this.log = log;
  }

  /** Starts the thread, which ends with the call. The service's method must call this. */
  public static void serve(ServerCallStreamObserver<?> call, RateLimitedLog log, Answer answer) {
    StreamCallThread flow = new StreamCallThread(call, log);
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
      fail(e);
    } catch (Error e) {
      // Without an answer the caller would wait forever.
      fail(new IllegalStateException(e));
    }
  }

  private void fail(RuntimeException e) {
    if (!call.isCancelled()) {
      Status status = ErrorStatuses.of(e);
      if (status.getCode() == Status.Code.INTERNAL) {
        log.error("Streaming call failed", e);
      }
      call.onError(status.asRuntimeException());
    }
  }

  public void wake() {
    wakeUps.release();
  }

  /** Waits until the receiver is ready; false: the call was cancelled. */
  public boolean awaitReady() throws InterruptedException {
    while (!call.isReady() && !call.isCancelled()) {
      awaitChange(TICK_MS);
    }
    return !call.isCancelled();
  }

  public void awaitChange() throws InterruptedException {
    awaitChange(TICK_MS);
  }

  public void awaitChange(long timeoutMs) throws InterruptedException {
    wakeUps.tryAcquire(timeoutMs, TimeUnit.MILLISECONDS);
    wakeUps.drainPermits();
  }
}
