package io.tensorflowignite.lease;

/** The calls of other nodes to a node's service, by Ignite's service grid. */
public interface NodeContact {
  /**
   * Reports to this node which nodes are connected. The call's return shows the caller that this
   * node is connected too.
   *
   * @param caller the consistent id of the calling node
   * @param answered the consistent ids of the nodes that answered the caller's last round, in which
   *     the caller called all nodes
   */
  void contact(String caller, String[] answered);

  /**
   * As {@link #contact}, without the names of all nodes: all that the caller knows have answered,
   * but these.
   *
   * @param nodesDigest identifies the nodes that the caller knows
   * @param silent the consistent ids of those that did not answer the last round
   * @return whether this node knows the same nodes; if not, the call has had no effect, and the
   *     caller repeats it by {@link #contact}
   */
  boolean contactAllBut(String caller, String nodesDigest, String[] silent);
}
