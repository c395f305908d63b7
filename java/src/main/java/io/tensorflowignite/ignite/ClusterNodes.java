package io.tensorflowignite.ignite;

import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.BaselineNode;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.IgniteNodeAttributes;
import org.apache.ignite.internal.managers.discovery.GridDiscoveryManager;

/** What Ignite's discovery knows of nodes, those that have left included. */
public final class ClusterNodes {
  private static final Pattern SEPARATOR = Pattern.compile("[,\\s]+");

  private ClusterNodes() {}

  /** The node of an id, present or past; empty: this node has never known it. */
  public static Optional<ClusterNode> find(Ignite ignite, UUID id) {
    return Optional.ofNullable(discovery(ignite).historicalNode(id));
  }

  /** The number of server nodes in the cluster. */
  public static int servers(Ignite ignite) {
    return discovery(ignite).aliveServerNodes().size();
  }

  /** The IP addresses of a node, as it had them when it joined last. */
  public static List<String> addresses(BaselineNode node) {
    Object addresses = node.attributes().get(IgniteNodeAttributes.ATTR_IPS);
    return addresses == null
        ? List.of()
        : SEPARATOR
            .splitAsStream(addresses.toString())
            .filter(address -> !address.isEmpty())
            .collect(Collectors.toList());
  }

  private static GridDiscoveryManager discovery(Ignite ignite) {
    return ((IgniteEx) ignite).context().discovery();
  }
}
