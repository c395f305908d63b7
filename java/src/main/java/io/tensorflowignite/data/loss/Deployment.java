package io.tensorflowignite.data.loss;

import java.util.Collection;
import java.util.Collections;
import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/** One life of a cache, from its creation until it is destroyed; the same on every node. */
final class Deployment {
  private final Ignite ignite;
  private final DynamicCacheDescriptor descriptor;

  Deployment(Ignite ignite, DynamicCacheDescriptor descriptor) {
    this.ignite = ignite;
    this.descriptor = descriptor;
  }

  /** The present cache of a name; does not start it on this node. */
  static Optional<Deployment> of(Ignite ignite, String cache) {
    return Optional.ofNullable(((IgniteEx) ignite).context().cache().cacheDescriptor(cache))
        .map(descriptor -> new Deployment(ignite, descriptor));
  }

  String id() {
    return descriptor.deploymentId().toString();
  }

  /**
   * The partitions that Ignite remembers as lost, of persistent caches and by policies; it refuses
   * to read them.
   */
  Collection<Integer> remembered() {
    IgniteCache<Object, Object> cache = ignite.cache(descriptor.cacheName());
    return cache == null ? Collections.emptySet() : cache.lostPartitions();
  }

  /** Whether its rows are on disk too, and come back with their nodes. */
  boolean isPersistent() {
    return descriptor.groupDescriptor().persistenceEnabled();
  }
}
