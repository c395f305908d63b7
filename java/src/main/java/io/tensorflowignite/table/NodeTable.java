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
public final class NodeTable implements AutoCloseable {
  private final Ignite ignite;
  private final Rows rows;

  /** Null: {@link #live} reads the cache. */
  private final LocalCopy<Optional<Node>> copy;

  private NodeTable(Ignite ignite, Rows rows, LocalCopy<Optional<Node>> copy) {
    this.ignite = ignite;
    this.rows = rows;
    this.copy = copy;
  }

  /** The table for a few calls. */
  public NodeTable(Ignite ignite) {
    this(ignite, new Rows(ignite, SystemCache.NODES), null);
  }

  /**
   * The table for repeated calls: its rows are parsed once after each change, until it is closed.
   */
  public static NodeTable copied(Ignite ignite) {
    Rows rows = new Rows(ignite, SystemCache.NODES);
    return new NodeTable(ignite, rows, new LocalCopy<>(rows, NodeTable::read, key -> {}));
  }

  public void put(Node node) {
    rows.put(Purpose.DECISION, node.getId(), node.toByteArray(), "the row of a node");
  }

  /** The row of a node; empty unless the node is in the topology now, and its row is readable. */
  public Optional<Node> get(String nodeId) {
    if (!inTopology(nodeId)) {
      return Optional.empty();
    }
    Optional<Optional<Node>> copied = copy == null ? Optional.empty() : copy.get(nodeId);
    return copied.orElseGet(() -> read(nodeId, rows.get(nodeId)));
  }

  /** The rows of the nodes that are in the topology now, in the order in which they joined. */
  public List<Node> live() {
    List<Node> live = new ArrayList<>();
    for (Optional<Node> row : copy == null ? all() : copy.all()) {
      row.filter(node -> inTopology(node.getId())).ifPresent(live::add);
    }
    live.sort(Comparator.comparingLong(Node::getOrder));
    return live;
  }

  private List<Optional<Node>> all() {
    List<Optional<Node>> all = new ArrayList<>();
    rows.forEachLocal((key, value) -> all.add(read(key, value)));
    return all;
  }

  /** Whether this node has all rows; after its join, a node receives them from other nodes. */
  public boolean isWhole() {
    return rows.areWhole();
  }

  /**
   * Whether a node is the oldest of the nodes that run the service now. A node that has not all
   * rows may not know older nodes, so it is not the oldest.
   */
  public boolean isOldest(String nodeId) {
    return isWhole()
        && live().stream().findFirst().filter(n -> n.getId().equals(nodeId)).isPresent();
  }

  /** Removes the rows of nodes that have left, and rows of no node. */
  public void removeDeparted() {
    List<Object> keys = new ArrayList<>();
    if (copy == null) {
      rows.forEachLocal((key, value) -> keys.add(key));
    } else {
      keys.addAll(copy.keys());
    }
    keys.stream().filter(key -> !inTopology(key)).forEach(rows.cache()::remove);
  }

  /** Compares all rows at the next call, since partitions have moved. */
  public void compare() {
    if (copy != null) {
      copy.compare();
    }
  }

  @Override
  public void close() {
    if (copy != null) {
      copy.close();
    }
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
