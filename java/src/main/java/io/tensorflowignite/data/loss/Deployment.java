package io.tensorflowignite.data.loss;

import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/** One life of a cache, from its creation until it is destroyed; the same on every node. */
final class Deployment {
  private final DynamicCacheDescriptor descriptor;

  Deployment(DynamicCacheDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** The present cache of a name; does not start it on this node. */
  static Optional<Deployment> of(Ignite ignite, String cache) {
    return Optional.ofNullable(((IgniteEx) ignite).context().cache().cacheDescriptor(cache))
        .map(Deployment::new);
  }

  String id() {
    return descriptor.deploymentId().toString();
  }

  /** Whether its rows are on disk too, and come back with their nodes. */
  boolean isPersistent() {
    return descriptor.groupDescriptor().persistenceEnabled();
  }
}
