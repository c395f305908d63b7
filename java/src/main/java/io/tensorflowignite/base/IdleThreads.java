package io.tensorflowignite.base;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Pools of threads that end when they have had nothing to do for 10 s. */
public final class IdleThreads {
  private static final int IDLE_S = 10;

  private IdleThreads() {}

  /**
   * Makes threads that do not keep their process alive.
   *
   * @param names of the threads, with %d for a number
   */
  public static ThreadFactory daemons(String names) {
    return new ThreadFactoryBuilder().setNameFormat(names).setDaemon(true).build();
  }

  /** A pool in which any number of tasks may wait. */
  public static ThreadPoolExecutor pool(String names, int threads) {
    return pool(names, threads, Integer.MAX_VALUE);
  }

  /**
   * A pool that refuses further tasks by a {@code RejectedExecutionException}.
   *
   * @param names of the threads, with %d for a number
   * @param threads the most threads
   * @param waiting the most tasks that wait for a thread
   */
  public static ThreadPoolExecutor pool(String names, int threads, int waiting) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            threads,
            threads,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(waiting),
            daemons(names));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }
}
