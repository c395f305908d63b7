package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.CacheLoss;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.ignite.Ignite;
import org.apache.ignite.transactions.Transaction;

/** The partitions that caches have lost, until a user accepts the loss; on every node. */
public final class LossTable {
  private final Rows rows;

  public LossTable(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.LOSSES);
  }

  /** The loss of a cache, by its deployment id; empty: there is none, or its row is unreadable. */
  public Optional<CacheLoss> get(String deploymentId) {
    return read(deploymentId, rows.get(deploymentId));
  }

  /** All losses of this node's copy, in no order. */
  public List<CacheLoss> all() {
    List<CacheLoss> losses = new ArrayList<>();
    rows.forEachLocal((key, value) -> read(Rows.text(key), value).ifPresent(losses::add));
    return losses;
  }

  /** Adds partitions to those that the cache has lost before; may be repeated. */
  public void add(CacheLoss loss) {
    try (Transaction tx = rows.begin()) {
      CacheLoss before = get(loss.getDeploymentId()).orElse(loss);
      TreeSet<Integer> partitions = new TreeSet<>(before.getPartitionsList());
      partitions.addAll(loss.getPartitionsList());
      TreeSet<String> owners = new TreeSet<>(before.getOwnersList());
      owners.addAll(loss.getOwnersList());
      CacheLoss after =
          before.toBuilder()
              .clearPartitions()
              .addAllPartitions(partitions)
              .clearOwners()
              .addAllOwners(owners)
              .build();
      rows.put(
          Purpose.DECISION, loss.getDeploymentId(), after.toByteArray(), "the loss of a cache");
      tx.commit();
    }
  }

  public void remove(String deploymentId) {
    rows.cache().remove(deploymentId);
  }

  private static Optional<CacheLoss> read(String key, Object value) {
    return Rows.read(CacheLoss.parser(), value, loss -> loss.getDeploymentId().equals(key));
  }
}
