package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;

/** The nodes that run the service, and their addresses. */
public final class NodeTable {
  private final Ignite ignite;
  private final Rows rows;

  public NodeTable(Ignite ignite) {
    this.ignite = ignite;
    this.rows = new Rows(ignite, SystemCache.NODES);
  }

  public void put(Node node) {
    rows.put(Purpose.DECISION, node.getId(), node.toByteArray(), "the row of a node");
  }

  /** The row of a node; empty unless the node is in the topology now, and its row is readable. */
  public Optional<Node> get(String nodeId) {
    return inTopology(nodeId) ? read(nodeId, rows.get(nodeId)) : Optional.empty();
  }

  /** The rows of the nodes that are in the topology now, in the order in which they joined. */
  public List<Node> live() {
    List<Node> live = new ArrayList<>();
    rows.forEachLocal(
        (key, value) -> {
          if (inTopology(key)) {
            read(key, value).ifPresent(live::add);
          }
        });
    live.sort(Comparator.comparingLong(Node::getOrder));
    return live;
  }

  /** Whether a node is the first that joined, among the nodes that run the service now. */
  public boolean isOldest(String nodeId) {
    List<Node> live = live();
    return !live.isEmpty() && live.get(0).getId().equals(nodeId);
  }

  /** Removes the rows of nodes that have left, and rows of no node. */
  public void removeDeparted() {
    List<Object> departed = new ArrayList<>();
    rows.forEachLocal(
        (key, value) -> {
          if (!inTopology(key)) {
            departed.add(key);
          }
        });
    departed.forEach(rows.cache()::remove);
  }

  private static Optional<Node> read(Object key, Object value) {
    return Rows.read(Node.parser(), value, node -> node.getId().equals(key));
  }

  private boolean inTopology(Object key) {
    try {
      return key instanceof String && ignite.cluster().node(UUID.fromString((String) key)) != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
