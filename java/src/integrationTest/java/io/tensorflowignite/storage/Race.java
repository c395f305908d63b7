package io.tensorflowignite.storage;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Does several things at once, and waits for their ends. */
final class Race {
  private static final long TIMEOUT_S = 60;

  private final List<Callable<?>> runners = new ArrayList<>();

  Race with(Callable<?> runner) {
    runners.add(runner);
    return this;
  }

  /** What each of them threw, in order; null: nothing. */
  List<Throwable> run() throws Exception {
    CyclicBarrier start = new CyclicBarrier(runners.size());
    ExecutorService threads = Executors.newFixedThreadPool(runners.size());
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (Callable<?> runner : runners) {
        ends.add(
            threads.submit(
                () -> {
                  start.await(TIMEOUT_S, TimeUnit.SECONDS);
                  return runner.call();
                }));
      }
      List<Throwable> thrown = new ArrayList<>();
      for (Future<?> end : ends) {
        thrown.add(thrown(end));
      }
      return thrown;
    } finally {
      threads.shutdownNow();
    }
  }

  /** Fails with what one of them threw. */
  void runWell() throws Exception {
    for (Throwable thrown : run()) {
      if (thrown != null) {
        throw new AssertionError(thrown);
      }
    }
  }

  private static Throwable thrown(Future<?> end) throws Exception {
    try {
      end.get(TIMEOUT_S, TimeUnit.SECONDS);
      return null;
    } catch (ExecutionException e) {
      return e.getCause();
    }
  }
}
