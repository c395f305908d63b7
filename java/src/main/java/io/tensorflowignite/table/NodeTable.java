package io.tensorflowignite.table;

import io.tensorflowignite.v1.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;

/** The nodes that run the service, and how to reach them. */
public final class NodeTable {
  private final Ignite ignite;
  private final IgniteCache<String, byte[]> cache;

  public NodeTable(Ignite ignite) {
    this.ignite = ignite;
    this.cache = SystemCache.NODES.open(ignite);
  }

  public void put(Node node) {
    cache.put(node.getId(), node.toByteArray());
  }

  public void remove(String nodeId) {
    cache.remove(nodeId);
  }

  /** The row of a node that is in the topology now. */
  public Optional<Node> get(String nodeId) {
    return inTopology(nodeId) ? Optional.ofNullable(parse(cache.get(nodeId))) : Optional.empty();
  }

  /** The rows of the nodes that are in the topology now, in the order in which they joined. */
  public List<Node> live() {
    List<Node> nodes = new ArrayList<>();
    for (Node node : rows()) {
      if (inTopology(node.getId())) {
        nodes.add(node);
      }
    }
    nodes.sort(Comparator.comparingLong(Node::getOrder));
    return nodes;
  }

  /** Whether a node is the one, of those that run the service now, that joined first. */
  public boolean isOldest(String nodeId) {
    List<Node> live = live();
    return !live.isEmpty() && live.get(0).getId().equals(nodeId);
  }

  /** Removes the rows of nodes that have left. */
  public void removeDeparted() {
    for (Node node : rows()) {
      if (!inTopology(node.getId())) {
        remove(node.getId());
      }
    }
  }

  private List<Node> rows() {
    List<Node> nodes = new ArrayList<>();
    for (Cache.Entry<String, byte[]> entry : cache.localEntries(CachePeekMode.ALL)) {
      nodes.add(parse(entry.getValue()));
    }
    return nodes;
  }

  private boolean inTopology(String nodeId) {
    return ignite.cluster().node(UUID.fromString(nodeId)) != null;
  }

  private static Node parse(byte[] bytes) {
    return Messages.parse(Node.parser(), bytes, SystemCache.NODES);
  }
}
