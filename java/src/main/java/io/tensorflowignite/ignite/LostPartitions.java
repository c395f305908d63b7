package io.tensorflowignite.ignite;

import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.CacheGroupContext;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionState;

/** Partitions that Ignite marks as lost, as this node knows them. */
public final class LostPartitions {
  private LostPartitions() {}

  /**
   * The names of the caches that have such partitions, and of which this node has a part; without
   * Ignite's internal caches.
   */
  public static List<String> caches(Ignite ignite) {
    return caches(ignite, group -> true);
  }

  /**
   * The names of the persistent caches of which this node has lost partitions with rows; without
   * Ignite's internal caches. An update counter above 0 shows that a partition has been written,
   * here or where it was copied from.
   */
  public static List<String> cachesWithRows(Ignite ignite) {
    return caches(ignite, group -> group.persistenceEnabled() && hasRows(group));
  }

  private static List<String> caches(Ignite ignite, Predicate<CacheGroupContext> selected) {
    return ((IgniteEx) ignite)
        .context().cache().cacheGroups().stream()
            .filter(group -> !group.topology().lostPartitions().isEmpty() && selected.test(group))
            .flatMap(group -> group.caches().stream())
            .filter(GridCacheContext::userCache)
            .map(GridCacheContext::name)
            .collect(Collectors.toList());
  }

  private static boolean hasRows(CacheGroupContext group) {
    return group.topology().localPartitions().stream()
        .anyMatch(
            partition ->
                partition.state() == GridDhtPartitionState.LOST && partition.updateCounter() > 0);
  }
}
