package io.tensorflowignite.node;

import io.tensorflowignite.data.flight.NodeDirectory;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Node;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;

/** Addresses of the other nodes' data endpoints, from the node table. */
final class NodeTableDirectory implements NodeDirectory {
  private final NodeTable nodes;
  private final UUID localNode;
  private final boolean encrypted;

  NodeTableDirectory(NodeTable nodes, Ignite ignite, boolean encrypted) {
    this.nodes = nodes;
    this.localNode = ignite.cluster().localNode().id();
    this.encrypted = encrypted;
  }

  @Override
  public Optional<String> address(UUID nodeId) {
    return nodes.get(nodeId.toString()).map(Node::getAddress);
  }

  @Override
  public UUID localNode() {
    return localNode;
  }

  @Override
  public boolean encrypted() {
    return encrypted;
  }
}
