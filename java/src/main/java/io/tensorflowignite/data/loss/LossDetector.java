package io.tensorflowignite.data.loss;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.table.LossTable;
import io.tensorflowignite.v1.CacheLoss;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.events.EventType;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.CacheGroupContext;
import org.apache.ignite.internal.processors.cache.CacheGroupDescriptor;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheSharedContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionFullMap;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionMap;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionsExchangeFuture;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.PartitionsExchangeAware;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionState;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionTopology;

/**
 * Finds the partitions that lose all their copies, on one node. With the partition loss policy
 * IGNORE, the default, an in-memory cluster gives them to other nodes as if they had been empty,
 * raises no event, and remembers nothing. So this compares the copies before and after each
 * exchange of partition maps in which nodes leave. A loss is known here before Ignite lets anybody
 * read the partition again; {@link #store} writes it into the table of losses.
 *
 * <p>With other policies, and for persistent caches, Ignite remembers lost partitions itself. Of a
 * persistent cache this stores the nodes whose disks have the rows, see {@link RestoredCopies}.
 */
public final class LossDetector implements PartitionsExchangeAware, AutoCloseable {
  private final Ignite ignite;
  private final IgniteLogger log;
  private final Runnable callback;
  private final LossTable table;
  private final GridCacheSharedContext<?, ?> caches;
  private final UUID self;

  /** The copies at the beginning of the current exchange, by group; used by one exchange only. */
  private volatile Map<Integer, GridDhtPartitionFullMap> before = Map.of();

  private volatile Set<UUID> observers = Set.of();
  private final Queue<CacheLoss> unstored = new ConcurrentLinkedQueue<>();

  private LossDetector(Ignite ignite, Runnable callback) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(LossDetector.class);
    this.callback = callback;
    this.table = new LossTable(ignite);
    this.caches = ((IgniteEx) ignite).context().cache().context();
    this.self = ignite.cluster().localNode().id();
  }

  /**
   * @param callback called after a loss, on Ignite's thread; then {@link #store} has work
   */
  public static LossDetector open(Ignite ignite, Runnable callback) {
    LossDetector detector = new LossDetector(ignite, callback);
    detector.caches.exchange().registerExchangeAwareComponent(detector);
    return detector;
  }

  @Override
  public void close() {
    caches.exchange().unregisterExchangeAwareComponent(this);
  }

  /** Sets the nodes that have a detector; it need not be complete. */
  public void observers(Collection<UUID> nodes) {
    observers = Set.copyOf(nodes);
  }

  /**
   * Writes losses into the table, and removes those of caches that were destroyed or are whole
   * again.
   */
  public void store() {
    for (CacheLoss loss = unstored.peek(); loss != null; loss = unstored.peek()) {
      log.warning(
          String.format(
              "Partitions have lost all their copies. %sTo accept that: tensorflow-ignite"
                  + " accept-data-loss %s [cache=%2$s, count=%d, partitions=%s]",
              loss.getOwnersCount() == 0
                  ? ""
                  : "Their rows are on the disks of " + loss.getOwnersList() + ". ",
              loss.getCache(),
              loss.getPartitionsCount(),
              MessageText.some(loss.getPartitionsList())));
      table.add(loss);
      unstored.remove(loss);
    }
    for (CacheLoss loss : table.all()) {
      boolean exists =
          Deployment.of(ignite, loss.getCache())
              .filter(now -> now.id().equals(loss.getDeploymentId()))
              .filter(now -> !now.isPersistent() || !now.remembered().isEmpty())
              .isPresent();
      if (!exists) {
        table.remove(loss.getDeploymentId());
      }
    }
  }

  /** The losses of a cache that are not in the table yet. */
  SortedSet<Integer> unstored(String deploymentId) {
    return unstored.stream()
        .filter(loss -> loss.getDeploymentId().equals(deploymentId))
        .flatMap(loss -> loss.getPartitionsList().stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Override
  public void onInitBeforeTopologyLock(GridDhtPartitionsExchangeFuture exchange) {
    safely(
        () -> {
          Map<Integer, GridDhtPartitionFullMap> copies = new HashMap<>();
          if (mayLose(exchange)) {
            for (CacheGroupDescriptor group : groups()) {
              GridDhtPartitionFullMap map = topology(group, exchange).partitionMap(false);
              if (map != null) {
                copies.put(group.groupId(), map);
              }
            }
          }
          before = copies;
        });
  }

  @Override
  public void onDoneBeforeTopologyUnlock(GridDhtPartitionsExchangeFuture exchange) {
    safely(
        () -> {
          Map<Integer, GridDhtPartitionFullMap> copies = before;
          before = Map.of();
          if (copies.isEmpty() || !exchange.events().hasServerLeft()) {
            return;
          }
          for (CacheGroupDescriptor group : groups()) {
            GridDhtPartitionFullMap known = copies.get(group.groupId());
            GridDhtPartitionTopology topology = topology(group, exchange);
            GridDhtPartitionFullMap present = topology.partitionMap(false);
            if (known != null && present != null) {
              find(group, topology, known, present);
            }
          }
          if (!unstored.isEmpty()) {
            callback.run();
          }
        });
  }

  private void find(
      CacheGroupDescriptor group,
      GridDhtPartitionTopology topology,
      GridDhtPartitionFullMap known,
      GridDhtPartitionFullMap present) {
    int count = topology.partitions();
    Map<UUID, BitSet> copies = complete(known, count);
    BitSet lost;
    Set<String> owners = Set.of();
    if (group.persistenceEnabled()) {
      lost = new BitSet();
      topology.lostPartitions().forEach(lost::set);
      // Those that were lost before have had no complete copy at the beginning of this exchange.
      copies.values().forEach(complete -> complete.and(lost));
      lost.clear();
      copies.values().forEach(lost::or);
      owners = owners(copies);
    } else {
      lost = LossRule.lost(copies, complete(present, count), self, observers, count);
      topology.lostPartitions().forEach(lost::clear);
    }
    if (lost.isEmpty()) {
      return;
    }
    Set<String> kept = owners;
    Timestamp now = Timestamps.fromMillis(System.currentTimeMillis());
    List<Integer> partitions = lost.stream().boxed().collect(Collectors.toList());
    descriptors()
        .filter(cache -> cache.groupId() == group.groupId())
        .forEach(
            cache ->
                unstored.add(
                    CacheLoss.newBuilder()
                        .setCache(cache.cacheName())
                        .setDeploymentId(new Deployment(ignite, cache).id())
                        .addAllPartitions(partitions)
                        .addAllOwners(kept)
                        .setLostAt(now)
                        .build()));
  }

  /** The consistent ids of the nodes that have any of these copies. */
  private Set<String> owners(Map<UUID, BitSet> copies) {
    Set<String> owners = new TreeSet<>();
    copies.forEach(
        (id, partitions) -> {
          ClusterNode node = caches.discovery().historicalNode(id);
          if (!partitions.isEmpty()) {
            owners.add(node == null ? id.toString() : String.valueOf(node.consistentId()));
          }
        });
    return owners;
  }

  /** Whether nodes leave in this exchange, or Ignite may merge such an exchange into it. */
  private static boolean mayLose(GridDhtPartitionsExchangeFuture exchange) {
    int type = exchange.firstEvent().type();
    return !exchange.firstEvent().eventNode().isClient()
        && (type == EventType.EVT_NODE_JOINED
            || type == EventType.EVT_NODE_LEFT
            || type == EventType.EVT_NODE_FAILED);
  }

  /** The groups of caches, users' and the service's own. */
  private Set<CacheGroupDescriptor> groups() {
    return descriptors().map(DynamicCacheDescriptor::groupDescriptor).collect(Collectors.toSet());
  }

  /** The caches as of the last exchange; without Ignite's internal ones. */
  private Stream<DynamicCacheDescriptor> descriptors() {
    return caches.affinity().caches().values().stream()
        .filter(cache -> cache.cacheType().userCache());
  }

  /** The partition maps of a group, also if this node has none of its partitions. */
  private GridDhtPartitionTopology topology(
      CacheGroupDescriptor group, GridDhtPartitionsExchangeFuture exchange) {
    CacheGroupContext here = caches.cache().cacheGroup(group.groupId());
    return here == null
        ? caches.exchange().clientTopology(group.groupId(), exchange.events().discoveryCache())
        : here.topology();
  }

  private static Map<UUID, BitSet> complete(GridDhtPartitionFullMap map, int partitions) {
    Map<UUID, BitSet> complete = new HashMap<>();
    for (Map.Entry<UUID, GridDhtPartitionMap> node : map.entrySet()) {
      BitSet copies = new BitSet(partitions);
      for (int partition = 0; partition < partitions; partition++) {
        copies.set(partition, node.getValue().get(partition) == GridDhtPartitionState.OWNING);
      }
      complete.put(node.getKey(), copies);
    }
    return complete;
  }

  /** An exception in a thread of Ignite's exchange would end the node. */
  private void safely(Runnable observation) {
    try {
      observation.run();
    } catch (RuntimeException | LinkageError e) {
      log.error("Lost partitions cannot be detected in this exchange [node=" + self + "]", e);
    }
  }
}
