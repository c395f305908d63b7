package io.tensorflowignite.data.load;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_STORAGE_FULL;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.RegionLimit;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;

/**
 * The memory that the partitions of a new cache take before its first row. A cache of 65,000
 * partitions takes 508 MiB, and Ignite ends every node whose data region is smaller.
 */
final class PartitionMemory {
  /** The first two pages of the tree of a partition's rows. */
  private static final int PAGES = 2;

  /** Ignite's default. */
  private static final int REPLICATED_PARTITIONS = 512;

  private PartitionMemory() {}

  /** Throws STORAGE_FULL if the partitions of a new cache in the default region have no room. */
  // The interface that replaces the deprecated metrics returns numbers as texts only.
  @SuppressWarnings("deprecation")
  static void require(Ignite ignite, CacheConfiguration<?, ?> cache) {
    DataStorageConfiguration storage = ignite.configuration().getDataStorageConfiguration();
    DataRegionConfiguration region = storage.getDefaultDataRegionConfiguration();
    RegionLimit rule = RegionLimit.of(region);
    if (!rule.isBounded()) {
      return;
    }
    int pageBytes =
        storage.getPageSize() > 0 ? storage.getPageSize() : DataStorageConfiguration.DFLT_PAGE_SIZE;
    int partitions = partitions(cache);
    long bytes = copiesPerNode(ignite, cache, partitions) * PAGES * pageBytes;
    long limit = rule.bytes(Purpose.DATA);
    // Ignite maintains this metric even when metrics are disabled.
    long used = ignite.dataRegionMetrics(region.getName()).getTotalUsedSize();
    if (used + bytes > limit) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_STORAGE_FULL,
          "There is no room for cache %s: its %,d partitions take %,d bytes on each node before the"
              + " first row, and data region '%s' of node %s has %,d of %,d bytes in use. Above %,d"
              + " bytes in use new caches are rejected, since Ignite ends a node whose memory is"
              + " full. Set fewer partitions, remove caches, add nodes, or give the region more"
              + " memory.",
          cache.getName(),
          partitions,
          bytes,
          region.getName(),
          ignite.cluster().localNode().id(),
          used,
          region.getMaxSize(),
          limit);
    }
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
  private static long copiesPerNode(Ignite ignite, CacheConfiguration<?, ?> cache, int partitions) {
    int nodes = Math.max(1, ignite.cluster().forServers().nodes().size());
    long copies =
        cache.getCacheMode() == CacheMode.REPLICATED
            ? nodes
            : Math.min(nodes, 1L + cache.getBackups());
    return (partitions * copies + nodes - 1) / nodes;
  }
}
