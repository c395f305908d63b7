package io.tensorflowignite.data;

import io.grpc.Context;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** Runs what a call leaves to other threads as a part of that call: with its gRPC context. */
final class ContextExecutor extends AbstractExecutorService {
  private final ExecutorService threads;

  ContextExecutor(ExecutorService threads) {
    this.threads = threads;
  }

  @Override
  public void execute(Runnable part) {
    threads.execute(Context.current().wrap(part));
  }

  @Override
  public void shutdown() {
    threads.shutdown();
  }

  @Override
  public List<Runnable> shutdownNow() {
    return threads.shutdownNow();
  }

  @Override
  public boolean isShutdown() {
    return threads.isShutdown();
  }

  @Override
  public boolean isTerminated() {
    return threads.isTerminated();
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
    return threads.awaitTermination(timeout, unit);
  }
}
