package io.tensorflowignite.table;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NODE_NOT_FOUND;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_DRAINED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.DrainNodeRequest;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeAvailability;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;

/** The mark of drained nodes, which is in their rows. */
public final class NodeDrain {
  /** Longer than the node itself takes to read and write its row. */
  private static final Duration WRITE_TIME = Duration.ofMillis(300);

  private NodeDrain() {}

  /**
   * Sets or removes the mark of a node.
   *
   * @return the node's row
   */
  public static Node set(NodeTable nodes, DrainNodeRequest request) {
    NodeAvailability desired =
        request.getUndo() ? NODE_AVAILABILITY_UNSPECIFIED : NODE_AVAILABILITY_DRAINED;
    Node node = find(nodes.live(), request.getNode());
    while (node.getAvailability() != desired
        && node.getAvailability() != NODE_AVAILABILITY_STOPPING) {
      nodes.put(node.toBuilder().setAvailability(desired).build());
      // The node may be writing its row at the same time.
      Uninterruptibles.sleepUninterruptibly(WRITE_TIME);
      node = find(nodes.live(), request.getNode());
    }
    return node;
  }

  private static Node find(List<Node> live, String name) {
    List<Node> found =
        live.stream()
            .filter(
                node ->
                    node.getConsistentId().equals(name)
                        || node.getAddress().equals(name)
                        || (!name.isEmpty() && node.getId().startsWith(name)))
            .collect(Collectors.toList());
    if (found.size() != 1) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_NODE_NOT_FOUND,
          "%s nodes have the id, name or address '%s'. A node is named by its id or the begin of"
              + " it, by its name, or by its address. See: tensorflow-ignite nodes",
          found.isEmpty() ? "No" : found.size(),
          name);
    }
    return found.get(0);
  }
}
