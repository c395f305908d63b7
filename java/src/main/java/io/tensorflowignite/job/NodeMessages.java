package io.tensorflowignite.job;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import java.util.UUID;
import java.util.function.BiConsumer;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteBiPredicate;

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

  /**
   * Takes the messages of a topic, on threads of Ignite.
   *
   * @param receiver gets the id of the sender and the message; it returns at once
   * @return ends this
   */
  public static Runnable listen(Ignite ignite, String topic, BiConsumer<UUID, Object> receiver) {
    IgniteBiPredicate<UUID, Object> listener =
        (node, message) -> {
          receiver.accept(node, message);
          return true;
        };
    ignite.message().localListen(topic, listener);
    return () -> ignite.message().stopLocalListen(topic, listener);
  }

  /** Takes the messages of a topic as they are parsed; nodes of this version send no others. */
  public static <M> Runnable listen(
      Ignite ignite, String topic, Parser<M> parser, BiConsumer<UUID, M> receiver) {
    return listen(
        ignite,
        topic,
        (node, message) -> {
          M parsed;
          try {
            parsed = parser.parseFrom((byte[]) message);
          } catch (InvalidProtocolBufferException | ClassCastException e) {
            return;
          }
          receiver.accept(node, parsed);
        });
  }
}
