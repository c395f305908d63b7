package io.tensorflowignite;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;

/** The only response of a call with a stream of requests. */
public final class FutureResponse<M> extends CompletableFuture<M> implements StreamObserver<M> {
  @Override
  public void onNext(M response) {
    complete(response);
  }

  @Override
  public void onError(Throwable problem) {
    completeExceptionally(problem);
  }

  @Override
  public void onCompleted() {}
}
