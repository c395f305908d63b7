package io.tensorflowignite.rpc;

import io.grpc.Context;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** Runs tasks of a call on other threads with the call's gRPC context. */
public final class ContextExecutor extends AbstractExecutorService {
  private final ExecutorService threads;

  public ContextExecutor(ExecutorService threads) {
    this.threads = threads;
  }

  @Override
  public void execute(Runnable task) {
    threads.execute(Context.current().wrap(task));
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
