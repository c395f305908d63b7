package io.tensorflowignite;

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
 * Which connections come from hosts of this cluster's nodes: the addresses that Ignite knows them
 * by, and those that they tell clients, which may be others.
 */
final class OwnHosts implements Predicate<InetSocketAddress> {
  /** For so long what names resolve to is taken as known. */
  private static final long KNOWN_S = 5;

  private final Supplier<Set<String>> ofIgnite;
  private final Supplier<Set<InetAddress>> told;

  OwnHosts(Ignite ignite, Supplier<List<Node>> nodes) {
    this(
        () ->
            ignite.cluster().forServers().nodes().stream()
                .flatMap(node -> node.addresses().stream())
                .collect(Collectors.toSet()),
        () -> resolved(nodes.get()),
        KNOWN_S);
  }

  OwnHosts(Supplier<Set<String>> ofIgnite, Supplier<Set<InetAddress>> told, long knownSeconds) {
    this.ofIgnite = ofIgnite;
    this.told = Suppliers.memoizeWithExpiration(told::get, knownSeconds, TimeUnit.SECONDS);
  }

  @Override
  public boolean test(InetSocketAddress peer) {
    InetAddress address = peer.getAddress();
    return address != null
        && (address.isLoopbackAddress()
            || ofIgnite.get().contains(address.getHostAddress())
            || told.get().contains(address));
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
        // The others are as good, and it is asked for again.
      }
    }
    return all;
  }
}
