package io.tensorflowignite.rpc;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.base.RateLimitedLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The thread of one streaming call, which waits for the receiver and for changes. The call's own
 * thread must not wait: gRPC uses it to report that the receiver is ready.
 */
public final class StreamCallThread {
  /** The longest wait after a lost wake-up. */
  private static final long TICK_MS = 1_000;

  private static final long TURN_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** The longest time of a turn after its first message, while others wait for one. */
  private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * The number of streams that read the data that they send, equal to the threads for large calls.
   */
  private static final Semaphore TURNS = new Semaphore(ApiServer.largeThreads(), true);

  private final ServerCallStreamObserver<?> call;
  private final RateLimitedLog log;
  private final Semaphore wakeUps = new Semaphore(0);

  /** Whether this turn has had a message. */
  private boolean inUse;

  private long turnEnd;

  /** Reads and sends messages. */
  public interface Turn<R> {
    R run() throws IOException, InterruptedException;
  }

  /** Sends the messages of a call. */
  public interface Answer {
    void send(StreamCallThread flow) throws IOException, InterruptedException;
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
    } catch (IOException e) {
      fail(new UncheckedIOException(e));
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

  /**
   * Waits for a short time until the receiver is ready for a message of a turn. False: it is not,
   * or the call ended, or the turn is over, since it was long and others wait.
   */
  public boolean isReadyAtOnce() throws InterruptedException {
    if (inUse && System.nanoTime() - turnEnd >= 0 && TURNS.hasQueuedThreads()) {
      return false;
    }
    long end = System.nanoTime() + TURN_WAIT_NANOS;
    long left = TURN_WAIT_NANOS;
    while (!call.isReady() && !call.isCancelled() && left > 0) {
      awaitChange(1 + TimeUnit.NANOSECONDS.toMillis(left));
      left = end - System.nanoTime();
    }
    if (!inUse) {
      inUse = true;
      turnEnd = System.nanoTime() + TURN_NANOS;
    }
    return call.isReady() && !call.isCancelled();
  }

  /**
   * Does what needs memory for rows or output, when it is this stream's turn: a thousand streams
   * would read a thousand blocks. A turn keeps nothing large, and does not wait for the receiver
   * longer than {@link #isReadyAtOnce} does.
   */
  public <R> R inTurn(Turn<R> turn) throws IOException, InterruptedException {
    TURNS.acquire();
    inUse = false;
    try {
      return turn.run();
    } finally {
      TURNS.release();
    }
  }

  public void awaitChange() throws InterruptedException {
    awaitChange(TICK_MS);
  }

  public void awaitChange(long timeoutMs) throws InterruptedException {
    wakeUps.tryAcquire(timeoutMs, TimeUnit.MILLISECONDS);
    wakeUps.drainPermits();
  }
}
