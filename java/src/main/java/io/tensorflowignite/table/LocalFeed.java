package io.tensorflowignite.table;

import io.tensorflowignite.ignite.Causes;
import java.util.function.Consumer;
import javax.cache.Cache;
import javax.cache.event.CacheEntryEvent;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;

/**
 * Reports every change of a replicated cache on the local node, without messages between nodes. The
 * listener runs on Ignite's threads and must return at once. It must tolerate lost events.
 */
public final class LocalFeed implements AutoCloseable {
  private final QueryCursor<Cache.Entry<Object, Object>> cursor;

  private LocalFeed(QueryCursor<Cache.Entry<Object, Object>> cursor) {
    this.cursor = cursor;
  }

  /**
   * Calls the listener with the key of each row that was put or removed. Ignite calls it during the
   * commit, while the row is locked: a listener that uses a cache waits without end.
   */
  static LocalFeed open(IgniteCache<Object, Object> cache, Consumer<Object> listener) {
    ContinuousQuery<Object, Object> query = new ContinuousQuery<>();
    query.setLocal(true);
    query.setLocalListener(
        events -> {
          for (CacheEntryEvent<?, ?> event : events) {
            notify(listener, event.getKey());
          }
        });
    return new LocalFeed(cache.query(query));
  }

  /**
   * Drops what a listener throws: the events are repeated by time, but an exception here would fail
   * the commit of the caller who changes the row, and with it end this node.
   */
  private static void notify(Consumer<Object> listener, Object key) {
    try {
      listener.accept(key);
    } catch (Throwable dropped) {
      return;
    }
  }

  /** Ignores the error of a stopping node, which ends its queries itself. */
  @Override
  public void close() {
    try {
      cursor.close();
    } catch (RuntimeException e) {
      if (!Causes.isStoppingNode(e)) {
        throw e;
      }
    }
  }
}
