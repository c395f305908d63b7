package io.tensorflowignite.ignite;

import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionMap;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionTopology;

/** This node's copies of the partitions of one cache. Thread-safe. */
public final class LocalCopies {
  private final IgniteCacheProxy<?, ?> cache;

  /** When all copies were last complete: they stay so until the topology changes. */
  private volatile AffinityTopologyVersion completeAt;

  public LocalCopies(IgniteCache<?, ?> cache) {
    this.cache = (IgniteCacheProxy<?, ?>) cache;
  }

  /**
   * Whether this node has a complete copy of every partition: not while they are copied to it, nor
   * outside of the baseline.
   */
  public boolean areComplete() {
    GridDhtPartitionTopology topology = cache.context().topology();
    AffinityTopologyVersion version = topology.readyTopologyVersion();
    // Each prediction calls this several times, and the map is made of all partitions.
    if (version.equals(completeAt)) {
      return true;
    }
    GridDhtPartitionMap here = topology.localPartitionMap();
    boolean areComplete = here.size() == topology.partitions() && !here.hasMovingPartitions();
    if (areComplete) {
      completeAt = version;
    }
    return areComplete;
  }
}
