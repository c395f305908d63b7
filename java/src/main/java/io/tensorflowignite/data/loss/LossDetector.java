package io.tensorflowignite.data.loss;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.ignite.CacheGroup;
import io.tensorflowignite.ignite.ClusterNodes;
import io.tensorflowignite.ignite.ExchangeObserver;
import io.tensorflowignite.ignite.PartitionCopies;
import io.tensorflowignite.ignite.PartitionExchange;
import io.tensorflowignite.ignite.PartitionExchanges;
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
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

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
public final class LossDetector implements ExchangeObserver, AutoCloseable {
  private final Ignite ignite;
  private final IgniteLogger log;
  private final Runnable callback;
  private final LossTable table;
  private final PartitionExchanges exchanges;
  private final UUID self;

  /** The copies at the beginning of the current exchange, by group; used by one exchange only. */
  private volatile Map<Integer, PartitionCopies> before = Map.of();

  private volatile Set<UUID> observers = Set.of();
  private final Queue<CacheLoss> unstored = new ConcurrentLinkedQueue<>();

  private LossDetector(Ignite ignite, Runnable callback) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(LossDetector.class);
    this.callback = callback;
    this.table = new LossTable(ignite);
    this.exchanges = new PartitionExchanges(ignite, this);
    this.self = ignite.cluster().localNode().id();
  }

  /**
   * @param callback called after a loss, on Ignite's thread; then {@link #store} has work
   */
  public static LossDetector open(Ignite ignite, Runnable callback) {
    LossDetector detector = new LossDetector(ignite, callback);
    detector.exchanges.open();
    return detector;
  }

  @Override
  public void close() {
    exchanges.close();
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
  public void onBegin(PartitionExchange exchange) {
    safely(
        () -> {
          Map<Integer, PartitionCopies> copies = new HashMap<>();
          if (exchange.mayLoseServer()) {
            for (CacheGroup group : exchange.groups()) {
              group.copies().ifPresent(known -> copies.put(group.id(), known));
            }
          }
          before = copies;
        });
  }

  @Override
  public void onEnd(PartitionExchange exchange) {
    safely(
        () -> {
          Map<Integer, PartitionCopies> copies = before;
          before = Map.of();
          if (copies.isEmpty() || !exchange.hasLostServer()) {
            return;
          }
          for (CacheGroup group : exchange.groups()) {
            PartitionCopies known = copies.get(group.id());
            if (known != null) {
              group.copies().ifPresent(present -> find(group, known, present));
            }
          }
          if (!unstored.isEmpty()) {
            callback.run();
          }
        });
  }

  private void find(CacheGroup group, PartitionCopies known, PartitionCopies present) {
    Map<UUID, BitSet> copies = known.complete();
    BitSet lost;
    Set<String> owners = Set.of();
    if (group.isPersistent()) {
      lost = new BitSet();
      group.lostPartitions().forEach(lost::set);
      // Those that were lost before have had no complete copy at the beginning of this exchange.
      copies.values().forEach(complete -> complete.and(lost));
      lost.clear();
      copies.values().forEach(lost::or);
      owners = owners(copies);
    } else {
      lost = LossRule.lost(copies, present.complete(), self, observers, group.partitions());
      group.lostPartitions().forEach(lost::clear);
    }
    if (lost.isEmpty()) {
      return;
    }
    Set<String> kept = owners;
    Timestamp now = Timestamps.fromMillis(System.currentTimeMillis());
    List<Integer> partitions = lost.stream().boxed().collect(Collectors.toList());
    group
        .caches()
        .forEach(
            cache ->
                unstored.add(
                    CacheLoss.newBuilder()
                        .setCache(cache.name())
                        .setDeploymentId(cache.deploymentId())
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
          if (!partitions.isEmpty()) {
            owners.add(
                ClusterNodes.find(ignite, id)
                    .map(node -> String.valueOf(node.consistentId()))
                    .orElse(id.toString()));
          }
        });
    return owners;
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
