package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.NodeModels;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** The model processes of each node, as the node has reported them, on every node. */
public final class ModelStateTable implements AutoCloseable {
  private final Ignite ignite;
  private final Rows rows;
  private final LocalCopy<Optional<NodeModels>> copy;

  /**
   * @param listener called after each change; it must not use caches
   */
  public ModelStateTable(Ignite ignite, Runnable listener) {
    this.ignite = ignite;
    this.rows = new Rows(ignite, SystemCache.MODEL_STATES);
    this.copy = new LocalCopy<>(rows, ModelStateTable::read, key -> listener.run());
  }

  public void put(NodeModels models) {
    rows.put(
        Purpose.DECISION,
        models.getNodeId(),
        models.toByteArray(),
        "the states of a node's models");
  }

  /** Whether this node has all rows; after its join, a node receives them from other nodes. */
  public boolean isWhole() {
    return copy.isWhole();
  }

  /** The row of a node in this node's copy; empty: there is none, or it is unreadable. */
  public Optional<NodeModels> get(String node) {
    return copy.get(node).flatMap(row -> row);
  }

  /**
   * The model processes of the nodes that are in the topology now, by the ids of the nodes: of this
   * node's copy, or of other nodes while that is not whole.
   */
  public Map<String, List<ModelStatus>> all() {
    Set<String> nodes = inTopology();
    Map<String, List<ModelStatus>> states = new HashMap<>();
    if (isWhole()) {
      nodes.forEach(node -> get(node).ifPresent(row -> states.put(node, row.getModelsList())));
    } else {
      rows.cache()
          .getAll(nodes)
          .forEach(
              (node, value) ->
                  read(node, value)
                      .ifPresent(row -> states.put(row.getNodeId(), row.getModelsList())));
    }
    return states;
  }

  /** Removes the rows of nodes that have left, and rows of no node. */
  public void removeDeparted() {
    Set<String> nodes = inTopology();
    copy.keys().stream().filter(key -> !nodes.contains(key)).forEach(rows.cache()::remove);
  }

  private Set<String> inTopology() {
    return ignite.cluster().forServers().nodes().stream()
        .map(node -> node.id().toString())
        .collect(Collectors.toSet());
  }

  /** Compares all rows at the next call, since partitions have moved. */
  public void compare() {
    copy.compare();
  }

  @Override
  public void close() {
    copy.close();
  }

  private static Optional<NodeModels> read(Object key, Object value) {
    return Rows.read(NodeModels.parser(), value, row -> row.getNodeId().equals(key));
  }
}
