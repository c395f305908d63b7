package io.tensorflowignite.ignite;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.ignite.internal.managers.discovery.DiscoCache;
import org.apache.ignite.internal.processors.cache.CacheGroupContext;
import org.apache.ignite.internal.processors.cache.CacheGroupDescriptor;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheSharedContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionTopology;

/** The caches that share partitions, with the maps of them; also of other nodes. */
public final class CacheGroup {
  private final GridCacheSharedContext<?, ?> caches;
  private final CacheGroupDescriptor descriptor;
  private final Supplier<DiscoCache> nodes;

  private CacheGroup(
      GridCacheSharedContext<?, ?> caches,
      CacheGroupDescriptor descriptor,
      Supplier<DiscoCache> nodes) {
    this.caches = caches;
    this.descriptor = descriptor;
    this.nodes = nodes;
  }

  /**
   * The groups of caches, as of the last exchange; without those of Ignite's internal caches.
   *
   * @param nodes those of the maps
   */
  static Set<CacheGroup> all(GridCacheSharedContext<?, ?> caches, Supplier<DiscoCache> nodes) {
    return caches.affinity().caches().values().stream()
        .filter(cache -> cache.cacheType().userCache())
        .map(DynamicCacheDescriptor::groupDescriptor)
        .distinct()
        .map(group -> new CacheGroup(caches, group, nodes))
        .collect(Collectors.toSet());
  }

  /** The same in all exchanges. */
  public int id() {
    return descriptor.groupId();
  }

  /** Whether the rows are on disk too. */
  public boolean isPersistent() {
    return descriptor.persistenceEnabled();
  }

  /** The caches, without Ignite's internal ones. */
  public List<CacheDescriptor> caches() {
    return caches.affinity().caches().values().stream()
        .filter(cache -> cache.cacheType().userCache() && cache.groupId() == id())
        .map(CacheDescriptor::new)
        .collect(Collectors.toList());
  }

  /** The copies of all nodes, as this node knows them; empty: it knows none. */
  public Optional<PartitionCopies> copies() {
    GridDhtPartitionTopology topology = topology();
    return Optional.ofNullable(topology.partitionMap(false))
        .map(map -> new PartitionCopies(map, topology.partitions()));
  }

  /** The number of partitions. */
  public int partitions() {
    return topology().partitions();
  }

  /** The partitions that Ignite marks as lost. */
  public Collection<Integer> lostPartitions() {
    return topology().lostPartitions();
  }

  /** The partition maps, also if this node has none of the partitions. */
  private GridDhtPartitionTopology topology() {
    CacheGroupContext here = caches.cache().cacheGroup(id());
    return here == null ? caches.exchange().clientTopology(id(), nodes.get()) : here.topology();
  }
}
