package io.tensorflowignite;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Predicate;
import org.apache.ignite.Ignite;

/** Which connections come from hosts of this cluster's nodes. */
final class OwnHosts implements Predicate<InetSocketAddress> {
  private final Ignite ignite;

  OwnHosts(Ignite ignite) {
    this.ignite = ignite;
  }

  @Override
  public boolean test(InetSocketAddress peer) {
    InetAddress address = peer.getAddress();
    return address != null
        && (address.isLoopbackAddress()
            || ignite.cluster().forServers().nodes().stream()
                .anyMatch(node -> node.addresses().contains(address.getHostAddress())));
  }
}
