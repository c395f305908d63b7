package io.tensorflowignite.storage.block;

import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.BlockHolders;
import io.tensorflowignite.v1.Node;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/** The owners of blocks, by the addresses of their APIs. */
public final class BlockLocations {
  private static final int UNKNOWN = -1;

  private final Ignite ignite;
  private final String cache;
  private final NodeTable nodes;

  /**
   * @param cache the name of the cache of blocks
   */
  public BlockLocations(Ignite ignite, String cache, NodeTable nodes) {
    this.ignite = ignite;
    this.cache = cache;
    this.nodes = nodes;
  }

  /**
   * The owners of the first blocks of an extent. An owner that has just left, or runs no service,
   * is unknown: any other node can read and write its blocks.
   */
  public BlockHolders of(String extent, int blocks) {
    Affinity<String> affinity = ignite.affinity(cache);
    BlockHolders.Builder holders = BlockHolders.newBuilder();
    Map<UUID, Integer> positions = new HashMap<>();
    for (int number = 0; number < blocks; number++) {
      ClusterNode node = affinity.mapKeyToNode(Blocks.key(extent, number));
      holders.addHolders(
          node == null
              ? UNKNOWN
              : positions.computeIfAbsent(node.id(), id -> position(id, holders)));
    }
    return holders.build();
  }

  private int position(UUID node, BlockHolders.Builder holders) {
    String address = nodes.get(node.toString()).map(Node::getAddress).orElse("");
    if (address.isEmpty()) {
      return UNKNOWN;
    }
    holders.addAddresses(address);
    return holders.getAddressesCount() - 1;
  }
}
