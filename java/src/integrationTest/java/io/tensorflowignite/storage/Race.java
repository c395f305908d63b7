package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Runs several bodies at once, each on its own thread, and waits for their ends. */
final class Race {
  private static final long TIMEOUT_S = 60;

  private final List<Body> bodies = new ArrayList<>();
  private final CountDownLatch running = new CountDownLatch(1);

  interface Body {
    void run() throws Exception;
  }

  Race with(Body body) {
    bodies.add(body);
    return this;
  }

  /** Adds a body at whose end the repeated ones end, too. */
  Race until(Body body) {
    return with(
        () -> {
          try {
            body.run();
          } finally {
            running.countDown();
          }
        });
  }

  /** Adds a body that is repeated until the body of {@link #until} has ended. */
  Race repeat(Body body) {
    return with(
        () -> {
          while (running.getCount() > 0) {
            body.run();
          }
        });
  }

  void run() throws Exception {
    for (Throwable thrown : runAll()) {
      if (thrown != null) {
        throw new AssertionError(thrown);
      }
    }
  }

  /** The index of the only body that fails, which must fail with this error. */
  int runToOneLoser(ErrorCode code) throws Exception {
    int loser = -1;
    List<Throwable> thrown = runAll();
    for (int i = 0; i < thrown.size(); i++) {
      if (thrown.get(i) != null) {
        assertEquals(thrown.toString(), -1, loser);
        assertEquals(code, ((TensorFlowIgniteException) thrown.get(i)).code());
        loser = i;
      }
    }
    assertEquals(thrown.toString(), true, loser >= 0);
    return loser;
  }

  /** The exceptions of the bodies, in their order; null: none. */
  private List<Throwable> runAll() throws Exception {
    CyclicBarrier start = new CyclicBarrier(bodies.size());
    ExecutorService threads = Executors.newFixedThreadPool(bodies.size());
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (Body body : bodies) {
        ends.add(
            threads.submit(
                () -> {
                  start.await(TIMEOUT_S, TimeUnit.SECONDS);
                  body.run();
                  return null;
                }));
      }
      List<Throwable> thrown = new ArrayList<>();
      for (Future<?> end : ends) {
        try {
          end.get(TIMEOUT_S, TimeUnit.SECONDS);
          thrown.add(null);
        } catch (ExecutionException e) {
          thrown.add(e.getCause());
        }
      }
      return thrown;
    } finally {
      threads.shutdownNow();
    }
  }
}
