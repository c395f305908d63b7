package io.tensorflowignite;

import io.tensorflowignite.data.NodeDirectory;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Node;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;

/** Where the data endpoints of other nodes are, from the node table. */
final class Directory implements NodeDirectory {
  private final NodeTable nodes;
  private final UUID localNode;
  private final boolean encrypted;

  Directory(NodeTable nodes, Ignite ignite, boolean encrypted) {
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
