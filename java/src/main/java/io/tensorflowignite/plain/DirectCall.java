package io.tensorflowignite.plain;

import io.grpc.stub.ServerCallStreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Predicate;

/** The answers of a gRPC method that this process calls itself. */
final class DirectCall<R> extends ServerCallStreamObserver<R> {
  private final Predicate<R> answers;
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private volatile boolean isCancelled;
  private volatile Runnable onCancel = () -> {};

  /**
   * @param answers takes each answer; false: it takes no more, and the call is cancelled
   */
  DirectCall(Predicate<R> answers) {
    this.answers = answers;
  }

  /** Waits for the last answer. */
  void await() throws InterruptedException, ExecutionException {
    try {
      end.get();
    } finally {
      cancel();
    }
  }

  private void cancel() {
    isCancelled = true;
    onCancel.run();
  }

  @Override
  public void onNext(R answer) {
    if (!isCancelled && !answers.test(answer)) {
      cancel();
      end.complete(null);
    }
  }

  @Override
  public void onError(Throwable error) {
    end.completeExceptionally(error);
  }

  @Override
  public void onCompleted() {
    end.complete(null);
  }

  @Override
  public boolean isCancelled() {
    return isCancelled;
  }

  @Override
  public void setOnCancelHandler(Runnable handler) {
    onCancel = handler;
  }

  @Override
  public boolean isReady() {
    return !isCancelled;
  }

  @Override
  public void setOnReadyHandler(Runnable handler) {
    // It is ready from its begin to its end.
  }

  @Override
  public void setCompression(String compression) {
    // Nothing is sent.
  }

  @Override
  public void setMessageCompression(boolean isEnabled) {
    // Nothing is sent.
  }

  @Override
  public void disableAutoInboundFlowControl() {
    // The caller has all requests.
  }

  @Override
  public void request(int count) {
    // The caller has all requests.
  }
}
