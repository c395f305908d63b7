package io.tensorflowignite.data.loss;

import java.util.BitSet;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Decides which partitions of a cache have lost all their copies when nodes left. Only complete
 * copies count (Ignite's state OWNING): while a copy is still being made, its partition has other
 * copies, or is lost. Ignite gives a partition without any copy to its new owners, which then have
 * it empty, or with the rows that had arrived.
 */
final class LossRule {
  private LossRule() {}

  /**
   * @param before by node, its partitions with complete copies before nodes left; exact for this
   *     node, and some seconds old for other nodes
   * @param after the same after nodes left, without these nodes; exact
   * @param self this node
   * @param observers the nodes that apply this rule too. Each decides about its own partitions,
   *     since it knows its own copies best
   * @return the lost partitions about which this node decides
   */
  static BitSet lost(
      Map<UUID, BitSet> before,
      Map<UUID, BitSet> after,
      UUID self,
      Set<UUID> observers,
      int partitions) {
    BitSet kept = new BitSet();
    before.forEach(
        (node, copies) -> {
          if (after.containsKey(node)) {
            kept.or(copies);
          }
        });
    BitSet existed = union(before.values());
    BitSet here = after.getOrDefault(self, new BitSet());
    BitSet elsewhere = new BitSet();
    after.forEach(
        (node, copies) -> {
          // A node that has just joined observes too late.
          if (before.containsKey(node) && observers.contains(node) && !node.equals(self)) {
            elsewhere.or(copies);
          }
        });
    BitSet lost = new BitSet();
    for (int partition = 0; partition < partitions; partition++) {
      boolean answers =
          here.get(partition) || (existed.get(partition) && !elsewhere.get(partition));
      lost.set(partition, answers && !kept.get(partition));
    }
    return lost;
  }

  private static BitSet union(Collection<BitSet> sets) {
    BitSet union = new BitSet();
    sets.forEach(union::or);
    return union;
  }
}
