package io.tensorflowignite.api;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.rpc.ErrorStatuses;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Calls that are answered when a prediction is ready. */
final class Predictions {
  /** Of a call without a deadline. */
  private static final long DEFAULT_TIMEOUT_S = 10;

  /** Without an overflow of nanoseconds. */
  private static final long MAX_TIMEOUT_S = 3600;

  private Predictions() {}

  /** The deadline of the present call, as a moment of {@link System#nanoTime}. */
  static long deadline() {
    Deadline deadline = Context.current().getDeadline();
    long left =
        deadline == null
            ? TimeUnit.SECONDS.toNanos(DEFAULT_TIMEOUT_S)
            : deadline.timeRemaining(TimeUnit.NANOSECONDS);
    return System.nanoTime() + Math.min(left, TimeUnit.SECONDS.toNanos(MAX_TIMEOUT_S));
  }

  /** Answers a call with what becomes of a prediction. */
  static <T, R> void complete(
      StreamObserver<R> observer, CompletableFuture<T> prediction, Function<T, R> answer) {
    ServerCallStreamObserver<R> call = (ServerCallStreamObserver<R>) observer;
    prediction
        .thenApply(answer)
        .whenComplete(
            (response, error) -> {
              if (error != null) {
                Throwable cause = cause(error);
                ErrorStatuses.end(
                    call,
                    cause instanceof RuntimeException
                        ? (RuntimeException) cause
                        : new IllegalStateException(cause));
              } else if (!call.isCancelled()) {
                call.onNext(response);
                call.onCompleted();
              }
            });
  }

  static Throwable cause(Throwable error) {
    return error instanceof CompletionException ? error.getCause() : error;
  }
}
