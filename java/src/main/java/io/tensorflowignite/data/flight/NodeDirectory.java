package io.tensorflowignite.data.flight;

import java.util.Optional;
import java.util.UUID;

/** The addresses of the nodes' data endpoints. */
public interface NodeDirectory {
  /** host:port of a node's endpoint; empty if the node runs none. */
  Optional<String> address(UUID nodeId);

  /** The node of this endpoint. */
  UUID localNode();

  /** Whether the endpoints use TLS: either all of them or none. */
  boolean encrypted();
}
