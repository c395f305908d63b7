package io.tensorflowignite;

import io.tensorflowignite.node.NodeRuntime;
import javax.cache.configuration.Factory;
import javax.net.ssl.SSLContext;

/**
 * The property {@code sslContextFactory} of an {@code IgniteConfiguration}: mutual TLS between
 * nodes with the PEM files of this node, which its server for clients and tasks uses too. A peer
 * needs a certificate of the same CA that is not limited to clients.
 */
public final class NodeSslContextFactory implements Factory<SSLContext> {
  private static final long serialVersionUID = 1;

  @Override
  public SSLContext create() {
    return NodeRuntime.contextBetweenNodes();
  }
}
