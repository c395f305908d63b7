package io.tensorflowignite.region;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.Collection;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;

/**
 * The memory that the partitions of a new cache take before its first row. A cache of 65,000
 * partitions takes 508 MiB, and Ignite ends every node whose data region is smaller.
 */
public final class PartitionMemory {
  /** The first two pages of the tree of a partition's rows. */
  private static final int PAGES = 2;

  /** Ignite's default. */
  private static final int REPLICATED_PARTITIONS = 512;

  private PartitionMemory() {}

  /**
   * Reserves the memory in the cache's region of every server node, until the cache is created.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory.
   */
  public static Reservation reserve(
      Ignite ignite, Purpose purpose, CacheConfiguration<?, ?> cache) {
    Collection<ClusterNode> servers = ignite.cluster().forServers().nodes();
    int partitions = partitions(cache);
    long bytes = copiesPerNode(servers.size(), cache, partitions) * PAGES * pageBytes(ignite);
    String region = cache.getDataRegionName();
    return MemoryReserve.of(ignite)
        .reserve(
            purpose,
            region == null ? "" : region,
            servers,
            node -> bytes,
            bytes,
            String.format("the %,d partitions of cache %s", partitions, cache.getName()),
            // Users choose the partitions of their caches only.
            purpose == Purpose.DATA ? "Set fewer partitions, remove" : "Remove");
  }

  private static int pageBytes(Ignite ignite) {
    int configured = ignite.configuration().getDataStorageConfiguration().getPageSize();
    return configured > 0 ? configured : DataStorageConfiguration.DFLT_PAGE_SIZE;
  }

  private static int partitions(CacheConfiguration<?, ?> cache) {
    if (cache.getAffinity() != null) {
      return cache.getAffinity().partitions();
    }
    return cache.getCacheMode() == CacheMode.REPLICATED
        ? REPLICATED_PARTITIONS
        : RendezvousAffinityFunction.DFLT_PARTITION_COUNT;
  }

  /** Copies of partitions on each node, on the average. */
  private static long copiesPerNode(int nodes, CacheConfiguration<?, ?> cache, int partitions) {
    long copies =
        cache.getCacheMode() == CacheMode.REPLICATED
            ? nodes
            : Math.min(nodes, 1L + cache.getBackups());
    return (partitions * copies + nodes - 1) / nodes;
  }
}
