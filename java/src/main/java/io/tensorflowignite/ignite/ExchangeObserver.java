package io.tensorflowignite.ignite;

/**
 * Observes the exchanges of partition maps on this node. Ignite calls it on its own thread: what
 * takes long delays all rows, and an exception ends the node.
 */
public interface ExchangeObserver {
  /** An exchange begins: the partition maps are still those before it. */
  default void onBegin(PartitionExchange exchange) {}

  /** An exchange ends: the maps are the new ones, and no row has changed with them yet. */
  void onEnd(PartitionExchange exchange);
}
