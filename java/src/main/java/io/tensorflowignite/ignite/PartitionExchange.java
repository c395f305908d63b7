package io.tensorflowignite.ignite;

import java.util.Set;
import org.apache.ignite.events.EventType;
import org.apache.ignite.internal.processors.cache.GridCacheSharedContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionsExchangeFuture;

/** One exchange of partition maps, for the duration of a call of {@link ExchangeObserver}. */
public final class PartitionExchange {
  private final GridCacheSharedContext<?, ?> caches;
  private final GridDhtPartitionsExchangeFuture exchange;

  PartitionExchange(GridCacheSharedContext<?, ?> caches, GridDhtPartitionsExchangeFuture exchange) {
    this.caches = caches;
    this.exchange = exchange;
  }

  /** At its begin: whether servers leave, or Ignite may merge such an exchange into this one. */
  public boolean mayLoseServer() {
    int type = exchange.firstEvent().type();
    return !exchange.firstEvent().eventNode().isClient()
        && (type == EventType.EVT_NODE_JOINED
            || type == EventType.EVT_NODE_LEFT
            || type == EventType.EVT_NODE_FAILED);
  }

  /** At its end: whether servers have left. */
  public boolean hasLostServer() {
    return exchange.events().hasServerLeft();
  }

  /** The groups of caches, as of the last exchange; without those of Ignite's internal caches. */
  public Set<CacheGroup> groups() {
    return CacheGroup.all(caches, () -> exchange.events().discoveryCache());
  }
}
