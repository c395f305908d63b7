package io.tensorflowignite.job;

import org.apache.ignite.Ignite;
import org.apache.ignite.events.Event;
import org.apache.ignite.events.EventType;
import org.apache.ignite.lang.IgnitePredicate;

/**
 * Ignite's events about nodes and partitions; enables only the types that are needed. An event
 * changes no state: it only starts another comparison of a row with the cluster.
 */
public final class TopologyEvents implements AutoCloseable {
  private static final int[] TOPOLOGY = {
    EventType.EVT_NODE_JOINED,
    EventType.EVT_NODE_LEFT,
    EventType.EVT_NODE_FAILED,
    EventType.EVT_CACHE_REBALANCE_STOPPED
  };

  private final Ignite ignite;
  private final IgnitePredicate<Event> listener;

  private TopologyEvents(Ignite ignite, IgnitePredicate<Event> listener) {
    this.ignite = ignite;
    this.listener = listener;
  }

  /** Calls back after each event that may change the owners of partitions. */
  public static TopologyEvents onChange(Ignite ignite, Runnable callback) {
    IgnitePredicate<Event> listener =
        event -> {
          callback.run();
          return true;
        };
    ignite.events().enableLocal(TOPOLOGY);
    ignite.events().localListen(listener, TOPOLOGY);
    return new TopologyEvents(ignite, listener);
  }

  @Override
  public void close() {
    ignite.events().stopLocalListen(listener);
  }
}
