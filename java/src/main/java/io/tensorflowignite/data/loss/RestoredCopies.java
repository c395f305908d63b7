package io.tensorflowignite.data.loss;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.ignite.LostPartitions;
import io.tensorflowignite.table.LossTable;
import io.tensorflowignite.v1.CacheLoss;
import io.tensorflowignite.v1.Node;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * Partitions of persistent caches that were lost, and whose rows are back with their nodes. Ignite
 * goes on to refuse them until somebody resets them, and then takes the copies that are there, also
 * if they are empty or old. So this resets them only when every node that had one of the last
 * complete copies is back, and says that it has rows of the lost partitions on its disk. A node
 * that has come back with an empty disk says nothing.
 */
public final class RestoredCopies {
  private final Ignite ignite;
  private final IgniteLogger log;
  private final LossTable table;

  public RestoredCopies(Ignite ignite) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(RestoredCopies.class);
    this.table = new LossTable(ignite);
  }

  /** The deployment ids of the caches of which this node has lost partitions with rows, sorted. */
  public List<String> here() {
    return LostPartitions.cachesWithRows(ignite).stream()
        .flatMap(cache -> Deployment.of(ignite, cache).stream())
        .map(Deployment::id)
        .distinct()
        .sorted()
        .collect(Collectors.toList());
  }

  /** Resets the lost partitions of the caches whose rows are back; for one node at a time. */
  public void reset(List<Node> live) {
    for (CacheLoss loss : table.all()) {
      Collection<Integer> lost =
          Deployment.of(ignite, loss.getCache())
              .filter(now -> now.isPersistent() && now.id().equals(loss.getDeploymentId()))
              .map(Deployment::remembered)
              .orElse(Collections.emptySet());
      if (!lost.isEmpty() && areBack(loss, lost, live)) {
        ignite.resetLostPartitions(Collections.singleton(loss.getCache()));
        log.warning(
            String.format(
                "Lost partitions are read again, since their nodes are back with the rows"
                    + " [cache=%s, count=%d, partitions=%s, nodes=%s]",
                loss.getCache(),
                lost.size(),
                MessageText.some(new ArrayList<>(lost)),
                loss.getOwnersList()));
      }
    }
  }

  /** Whether all nodes with the last complete copies of these partitions are back with rows. */
  static boolean areBack(CacheLoss loss, Collection<Integer> lost, List<Node> live) {
    Set<String> restored =
        live.stream()
            .filter(node -> node.getRestoredCachesList().contains(loss.getDeploymentId()))
            .map(Node::getConsistentId)
            .collect(Collectors.toSet());
    return loss.getOwnersCount() > 0
        && loss.getPartitionsList().containsAll(lost)
        && restored.containsAll(loss.getOwnersList());
  }
}
