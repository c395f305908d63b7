package io.tensorflowignite.region;

import io.tensorflowignite.ignite.RegionMetrics;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;

/**
 * The data region of the project's own caches, if every server node has it. A cache stays in its
 * first region: Ignite cannot move a cache, and ends a node that joins without the region of a
 * cache.
 */
public final class OwnRegion {
  /** The region's name in the configurations of nodes. */
  public static final String NAME = "tensorflow-ignite";

  /**
   * Each node stores all partitions of a replicated cache, and each partition takes two pages
   * before its first row. Ignite's default of 512 would be 4 MiB for each of these small caches.
   */
  private static final int REPLICATED_PARTITIONS = 64;

  private OwnRegion() {}

  /**
   * Opens a cache, and creates it when it does not exist.
   *
   * @param cache a configuration that names a region, or leaves the choice to this method
   */
  public static <K, V> IgniteCache<K, V> getOrCreate(
      Ignite ignite, CacheConfiguration<K, V> cache) {
    if (ignite.cacheNames().contains(cache.getName())) {
      return ignite.getOrCreateCache(cache);
    }
    return cache.getDataRegionName() == null
        ? create(ignite, cache, forNewCache(ignite))
        : create(ignite, cache);
  }

  /**
   * @param region the choice; null: the default region
   */
  static <K, V> IgniteCache<K, V> create(
      Ignite ignite, CacheConfiguration<K, V> cache, String region) {
    try {
      return create(ignite, cache.setDataRegionName(region));
    } catch (RuntimeException failure) {
      // A node without the region has joined since the choice; Ignite names no cause.
      if (region == null || forNewCache(ignite) != null) {
        throw failure;
      }
      return create(ignite, cache.setDataRegionName(null));
    }
  }

  private static <K, V> IgniteCache<K, V> create(Ignite ignite, CacheConfiguration<K, V> cache) {
    if (cache.getCacheMode() == CacheMode.REPLICATED) {
      cache.setAffinity(new RendezvousAffinityFunction(false, REPLICATED_PARTITIONS));
    }
    try (Reservation room = PartitionMemory.reserve(ignite, Purpose.DECISION, cache)) {
      return ignite.getOrCreateCache(cache);
    }
  }

  /** The server nodes whose configuration has no region of this name. */
  public static List<ClusterNode> nodesWithout(Ignite ignite, String region) {
    RegionMetrics metrics = new RegionMetrics(ignite);
    return ignite.cluster().forServers().nodes().stream()
        .filter(node -> metrics.configuration(node, region) == null)
        .collect(Collectors.toList());
  }

  /**
   * The region for a new cache; null: the default region. It is used if a node lacks our region, or
   * has only the default region on disk: jobs and files of a cluster with persistence survive its
   * restart.
   */
  private static String forNewCache(Ignite ignite) {
    RegionMetrics metrics = new RegionMetrics(ignite);
    for (ClusterNode node : ignite.cluster().forServers().nodes()) {
      DataRegionConfiguration own = metrics.configuration(node, NAME);
      if (own == null
          || metrics.configuration(node, null).isPersistenceEnabled()
              && !own.isPersistenceEnabled()) {
        return null;
      }
    }
    return NAME;
  }
}
