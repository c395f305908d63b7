package io.tensorflowignite.table;

import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import java.util.function.BiConsumer;
import javax.cache.Cache;
import javax.cache.event.CacheEntryEvent;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.util.typedef.X;

/**
 * Tells of every change of a replicated cache, on the node where it is opened and without a message
 * between nodes. The listener runs on Ignite's threads: it must only pass the news on. A lost event
 * must not matter to it.
 */
public final class LocalFeed implements AutoCloseable {
  private final QueryCursor<Cache.Entry<String, byte[]>> cursor;

  private LocalFeed(QueryCursor<Cache.Entry<String, byte[]>> cursor) {
    this.cursor = cursor;
  }

  /** The listener gets the key and the new value, null when it was removed. */
  static <M extends Message> LocalFeed open(
      IgniteCache<String, byte[]> cache,
      SystemCache which,
      Parser<M> parser,
      BiConsumer<String, M> listener) {
    ContinuousQuery<String, byte[]> query = new ContinuousQuery<>();
    query.setLocal(true);
    query.setLocalListener(
        events -> {
          for (CacheEntryEvent<? extends String, ? extends byte[]> event : events) {
            listener.accept(event.getKey(), Messages.parse(parser, event.getValue(), which));
          }
        });
    return new LocalFeed(cache.query(query));
  }

  /** A node that stops ends its queries itself, and refuses to be asked. */
  @Override
  public void close() {
    try {
      cursor.close();
    } catch (RuntimeException e) {
      if (!X.hasCause(e, NodeStoppingException.class)) {
        throw e;
      }
    }
  }
}
