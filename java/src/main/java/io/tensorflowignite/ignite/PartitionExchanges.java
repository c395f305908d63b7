package io.tensorflowignite.ignite;

import java.util.OptionalLong;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.GridCacheSharedContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionsExchangeFuture;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.PartitionsExchangeAware;

/** The exchanges of partition maps on one node, by which partitions get new owners. */
public final class PartitionExchanges implements AutoCloseable {
  private final GridCacheSharedContext<?, ?> caches;
  private final PartitionsExchangeAware adapter;

  /**
   * @param observer called from {@link #open} until {@link #close}
   */
  public PartitionExchanges(Ignite ignite, ExchangeObserver observer) {
    this.caches = caches(ignite);
    this.adapter = new Adapter(caches, observer);
  }

  public void open() {
    caches.exchange().registerExchangeAwareComponent(adapter);
  }

  @Override
  public void close() {
    caches.exchange().unregisterExchangeAwareComponent(adapter);
  }

  /** The topology version of the last exchange, if it has not finished. */
  public static OptionalLong unfinished(Ignite ignite) {
    GridDhtPartitionsExchangeFuture last = caches(ignite).exchange().lastTopologyFuture();
    return last == null || last.isDone()
        ? OptionalLong.empty()
        : OptionalLong.of(last.initialVersion().topologyVersion());
  }

  private static GridCacheSharedContext<?, ?> caches(Ignite ignite) {
    return ((IgniteEx) ignite).context().cache().context();
  }

  /** Overrides the methods of two versions of Ignite, without annotations: no version has both. */
  @SuppressWarnings("MissingOverride")
  static final class Adapter implements PartitionsExchangeAware {
    private final GridCacheSharedContext<?, ?> caches;
    private final ExchangeObserver observer;

    Adapter(GridCacheSharedContext<?, ?> caches, ExchangeObserver observer) {
      this.caches = caches;
      this.observer = observer;
    }

    @Override
    public void onInitBeforeTopologyLock(GridDhtPartitionsExchangeFuture exchange) {
      observer.onBegin(new PartitionExchange(caches, exchange));
    }

    /** Of Ignite 2.17. */
    public void onDoneBeforeTopologyUnlock(GridDhtPartitionsExchangeFuture exchange) {
      observer.onEnd(new PartitionExchange(caches, exchange));
    }

    /** Of Ignite 2.18, which calls it in the same cases. */
    public void onDoneBeforeTopologyUnlock(
        GridDhtPartitionsExchangeFuture exchange, Throwable failure) {
      observer.onEnd(new PartitionExchange(caches, exchange));
    }
  }
}
