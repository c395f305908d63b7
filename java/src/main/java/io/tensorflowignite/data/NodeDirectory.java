package io.tensorflowignite.data;

import java.util.Optional;
import java.util.UUID;

/** Where the data endpoints of the cluster's nodes are reached. */
public interface NodeDirectory {
  /** host:port of the endpoint of a node; empty when that node runs none. */
  Optional<String> address(UUID nodeId);

  /** The node that this endpoint reads from. */
  UUID localNode();

  /** Whether endpoints are reached by TLS: either all are, or none is. */
  boolean encrypted();
}
