package io.tensorflowignite.baseline;

import io.tensorflowignite.ignite.ClusterNodes;
import io.tensorflowignite.v1.MissingNode;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.BaselineNode;
import org.apache.ignite.cluster.ClusterNode;

/** Which nodes of the baseline are missing; known also while the cluster is not active. */
public final class Baseline {
  private Baseline() {}

  /** The number of nodes of the baseline; 0 before the first activation. */
  public static int size(Ignite ignite) {
    return nodes(ignite).size();
  }

  /** The nodes of the baseline that are not in the topology, sorted by their consistent ids. */
  public static List<MissingNode> missing(Ignite ignite) {
    Set<String> here =
        ignite.cluster().forServers().nodes().stream()
            .map(ClusterNode::consistentId)
            .map(String::valueOf)
            .collect(Collectors.toSet());
    return nodes(ignite).stream()
        .filter(node -> !here.contains(String.valueOf(node.consistentId())))
        .map(
            node ->
                MissingNode.newBuilder()
                    .setConsistentId(String.valueOf(node.consistentId()))
                    .setHost(host(node))
                    .build())
        .sorted((one, other) -> one.getConsistentId().compareTo(other.getConsistentId()))
        .collect(Collectors.toList());
  }

  /** For people: {@code node-2 at 10.0.0.3}. */
  public static String text(MissingNode node) {
    return node.getConsistentId() + (node.getHost().isEmpty() ? "" : " at " + node.getHost());
  }

  private static Collection<BaselineNode> nodes(Ignite ignite) {
    return Optional.ofNullable(ignite.cluster().currentBaselineTopology())
        .orElse(Collections.emptyList());
  }

  /** The address that other hosts know, if there is one. */
  private static String host(BaselineNode node) {
    List<String> all = ClusterNodes.addresses(node);
    return all.stream()
        .filter(address -> !address.startsWith("127.") && !address.contains(":"))
        .findFirst()
        .orElse(all.isEmpty() ? "" : all.get(0));
  }
}
