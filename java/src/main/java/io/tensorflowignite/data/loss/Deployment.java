package io.tensorflowignite.data.loss;

import io.tensorflowignite.ignite.CacheDescriptor;
import java.util.Collection;
import java.util.Collections;
import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** One life of a cache, from its creation until it is destroyed; the same on every node. */
final class Deployment {
  private final Ignite ignite;
  private final CacheDescriptor cache;

  private Deployment(Ignite ignite, CacheDescriptor cache) {
    this.ignite = ignite;
    this.cache = cache;
  }

  /** The present cache of a name; does not start it on this node. */
  static Optional<Deployment> of(Ignite ignite, String cache) {
    return CacheDescriptor.of(ignite, cache).map(present -> new Deployment(ignite, present));
  }

  String id() {
    return cache.deploymentId();
  }

  /**
   * The partitions that Ignite remembers as lost, of persistent caches and by policies; it refuses
   * to read them.
   */
  Collection<Integer> remembered() {
    IgniteCache<Object, Object> opened = ignite.cache(cache.name());
    return opened == null ? Collections.emptySet() : opened.lostPartitions();
  }

  /** The same, where this node has a part of the cache; does not start it on this node. */
  Collection<Integer> rememberedHere() {
    return cache.lostPartitions(ignite);
  }

  /** Whether its rows are on disk too, and come back with their nodes. */
  boolean isPersistent() {
    return cache.isPersistent();
  }
}
