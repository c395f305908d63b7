package io.tensorflowignite.node;

import com.google.common.base.Suppliers;
import com.google.common.net.HostAndPort;
import io.tensorflowignite.v1.Node;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * Whether a connection comes from a host of this cluster's nodes. The host's address is then an
 * address that Ignite has for a node, or that a node publishes for clients; the two may differ.
 */
final class ClusterHosts implements Predicate<InetSocketAddress> {
  /** How long resolved names are cached. */
  private static final long CACHED_S = 5;

  private final Supplier<Set<String>> igniteAddresses;
  private final Supplier<Set<InetAddress>> published;

  ClusterHosts(Ignite ignite, Supplier<List<Node>> nodes) {
    this(
        () ->
            ignite.cluster().forServers().nodes().stream()
                .flatMap(node -> node.addresses().stream())
                .collect(Collectors.toSet()),
        () -> resolved(nodes.get()),
        CACHED_S);
  }

  ClusterHosts(
      Supplier<Set<String>> igniteAddresses,
      Supplier<Set<InetAddress>> published,
      long cachedSeconds) {
    this.igniteAddresses = igniteAddresses;
    this.published =
        Suppliers.memoizeWithExpiration(published::get, cachedSeconds, TimeUnit.SECONDS);
  }

  @Override
  public boolean test(InetSocketAddress peer) {
    InetAddress address = peer.getAddress();
    return address != null
        && (address.isLoopbackAddress()
            || igniteAddresses.get().contains(address.getHostAddress())
            || published.get().contains(address));
  }

  static Set<InetAddress> resolved(List<Node> nodes) {
    Set<InetAddress> all = new HashSet<>();
    for (Node node : nodes) {
      try {
        String host = HostAndPort.fromString(node.getAddress()).getHost();
        if (!host.isEmpty()) {
          all.addAll(List.of(InetAddress.getAllByName(host)));
        }
      } catch (IllegalArgumentException | UnknownHostException notNow) {
        // This name is resolved again when the cache expires.
      }
    }
    return all;
  }
}
