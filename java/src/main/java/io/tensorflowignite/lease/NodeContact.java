package io.tensorflowignite.lease;

/** What a node's service answers to other nodes, by Ignite's service grid. */
public interface NodeContact {
  /**
   * Tells this node who is connected. Its return is the answer by which the caller knows that this
   * node is connected too.
   *
   * @param caller the consistent id of the calling node
   * @param answered the consistent ids of the nodes that answered the caller's last round, in which
   *     the caller called all nodes
   */
  void contact(String caller, String[] answered);
}
