package io.tensorflowignite.job;

import java.util.function.BiConsumer;
import org.apache.ignite.Ignite;
import org.apache.ignite.events.CacheRebalancingEvent;
import org.apache.ignite.events.Event;
import org.apache.ignite.events.EventType;
import org.apache.ignite.lang.IgnitePredicate;

/**
 * Ignite's events about nodes and partitions; the few that are needed are enabled here, and no
 * group of them.
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

  /** Calls back after each event that may change who owns which partitions. */
  public static TopologyEvents onChange(Ignite ignite, Runnable callback) {
    return listen(
        ignite,
        event -> {
          callback.run();
          return true;
        },
        TOPOLOGY);
  }

  /** Calls back with cache and partition when a partition has lost all its copies. */
  public static TopologyEvents onDataLoss(Ignite ignite, BiConsumer<String, Integer> callback) {
    return listen(
        ignite,
        event -> {
          CacheRebalancingEvent loss = (CacheRebalancingEvent) event;
          callback.accept(loss.cacheName(), loss.partition());
          return true;
        },
        EventType.EVT_CACHE_REBALANCE_PART_DATA_LOST);
  }

  private static TopologyEvents listen(
      Ignite ignite, IgnitePredicate<Event> listener, int... types) {
    ignite.events().enableLocal(types);
    ignite.events().localListen(listener, types);
    return new TopologyEvents(ignite, listener);
  }

  @Override
  public void close() {
    ignite.events().stopLocalListen(listener);
  }
}
