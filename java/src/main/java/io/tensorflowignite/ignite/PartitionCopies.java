package io.tensorflowignite.ignite;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionFullMap;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionMap;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionState;

/** Which nodes have which copies of a group's partitions, as of one moment. */
public final class PartitionCopies {
  private final GridDhtPartitionFullMap map;
  private final int partitions;

  PartitionCopies(GridDhtPartitionFullMap map, int partitions) {
    this.map = map;
    this.partitions = partitions;
  }

  /** By node, the partitions of which it has complete copies. */
  public Map<UUID, BitSet> complete() {
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
}
