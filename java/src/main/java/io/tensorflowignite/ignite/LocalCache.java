package io.tensorflowignite.ignite;

import java.util.BitSet;
import java.util.OptionalLong;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.GridCacheSharedContext;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtLocalPartition;

/** A cache on this node: its keys and partitions, without their rows. */
public final class LocalCache {
  private final GridCacheContext<?, ?> context;

  /**
   * @param cache kept binary
   */
  public LocalCache(IgniteCache<Object, Object> cache) {
    this.context = ((IgniteCacheProxy<?, ?>) cache).context();
  }

  /** Identifies the life of the cache that this node has under a name now. */
  public static Object deployment(Ignite ignite, String cache) {
    GridCacheSharedContext<?, ?> caches = ((IgniteEx) ignite).context().cache().context();
    int id = caches.cache().cacheDescriptor(cache).cacheId();
    return caches.cacheContext(id).dynamicDeploymentId();
  }

  /** The number of partitions. */
  public int partitions() {
    return context.affinity().partitions();
  }

  /** The partition of a key. */
  public int partition(Object key) {
    return context.affinity().partition(key);
  }

  /** The bytes by which Ignite compares keys. */
  public byte[] keyBytes(Object key) {
    try {
      return context.toCacheKeyObject(key).valueBytes(context.cacheObjectContext());
    } catch (IgniteCheckedException e) {
      throw new IgniteException(e);
    }
  }

  /** The partitions whose primary copy this node has, all as of one version of the topology. */
  public BitSet primaries() {
    AffinityTopologyVersion version = context.affinity().affinityTopologyVersion();
    BitSet primaries = new BitSet();
    for (int partition = 0; partition < partitions(); partition++) {
      primaries.set(
          partition,
          context.affinity().primaryByPartition(context.localNode(), partition, version));
    }
    return primaries;
  }

  /** The number of rows of this node's copy of a partition; empty: it has none. */
  public OptionalLong rows(int partition) {
    GridDhtLocalPartition local =
        context.topology().localPartition(partition, AffinityTopologyVersion.NONE, false);
    return local == null
        ? OptionalLong.empty()
        : OptionalLong.of(local.dataStore().cacheSize(context.cacheId()));
  }
}
