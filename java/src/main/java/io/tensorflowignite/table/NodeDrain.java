package io.tensorflowignite.table;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NODE_NOT_FOUND;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_DRAINED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.DrainNodeRequest;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.stream.Collectors;

/** The mark of drained nodes, which is in their rows. */
public final class NodeDrain {
  private NodeDrain() {}

  /**
   * Sets or removes the mark of a node.
   *
   * @return the node's row
   */
  public static Node set(NodeTable nodes, DrainNodeRequest request) {
    Node node = find(nodes.live(), request.getNode());
    if (node.getAvailability() == NODE_AVAILABILITY_STOPPING) {
      return node;
    }
    Node changed =
        node.toBuilder()
            .setAvailability(
                request.getUndo() ? NODE_AVAILABILITY_UNSPECIFIED : NODE_AVAILABILITY_DRAINED)
            .build();
    nodes.put(changed);
    return changed;
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
