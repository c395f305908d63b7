package io.tensorflowignite.data.sql;

import io.grpc.Context;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.query.FieldsQueryCursor;

/**
 * Ends a query together with its call. A query that selects few rows sends nothing for a long time,
 * so it would not detect that its caller has left.
 */
final class QueryCancellation implements AutoCloseable {
  private final Context call = Context.current();
  private final Context.CancellationListener listener;

  QueryCancellation(FieldsQueryCursor<?> query) {
    // Ignite cancels a query whose cursor is closed by another thread.
    listener = ended -> query.close();
    call.addListener(listener, QueryCancellation::start);
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

  /** Closing waits for other nodes, and the thread that ends the call must not. */
  private static void start(Runnable close) {
    Thread thread = new Thread(close, "tensorflow-ignite-cancel");
    thread.setDaemon(true);
    thread.start();
  }
}
