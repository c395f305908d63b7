package io.tensorflowignite.job;

import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;

/** Messages between nodes which may be lost: their senders repeat them, or do without. */
public final class NodeMessages {
  private NodeMessages() {}

  /**
   * Sends a message if the node is in the cluster; never throws for a node that leaves.
   *
   * @param nodeId the receiver, which may be this node
   */
  public static void send(Ignite ignite, UUID nodeId, String topic, Object message) {
    ClusterNode node = ignite.cluster().node(nodeId);
    if (node == null) {
      return;
    }
    try {
      ignite.message(ignite.cluster().forNode(node)).send(topic, message);
    } catch (IgniteException leaves) {
      return;
    }
  }
}
