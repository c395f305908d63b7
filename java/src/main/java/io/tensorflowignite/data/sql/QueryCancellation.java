package io.tensorflowignite.data.sql;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import io.grpc.Context;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.query.FieldsQueryCursor;

/**
 * Ends a query with the call for which it runs. A query that selects few rows sends nothing for a
 * long time, so that nothing else notices that its caller has left.
 */
final class QueryCancellation implements AutoCloseable {
  private static final int THREADS = 2;
  private static final long THREAD_IDLE_SECONDS = 10;
  private static final Executor EXECUTOR = executor();

  private final Context call = Context.current();
  private final Context.CancellationListener listener;

  QueryCancellation(FieldsQueryCursor<?> query) {
    // Ignite cancels a query whose cursor is closed by another thread.
    listener = ended -> query.close();
    call.addListener(listener, EXECUTOR);
  }

  /** Whether the current call has ended, and with it its queries. */
  static boolean callHasEnded() {
    return Context.current().isCancelled();
  }

  /**
   * @throws IgniteInterruptedException the current call has ended
   */
  static void requireCall() {
    if (callHasEnded()) {
      throw new IgniteInterruptedException("The call for which a query runs has ended.");
    }
  }

  @Override
  public void close() {
    call.removeListener(listener);
  }

  private static Executor executor() {
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            THREAD_IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            new ThreadFactoryBuilder()
                .setNameFormat("tensorflow-ignite-cancel-%d")
                .setDaemon(true)
                .build());
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }
}
