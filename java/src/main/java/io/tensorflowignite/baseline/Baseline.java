package io.tensorflowignite.baseline;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.AbsentCopies;
import io.tensorflowignite.ignite.ClusterNodes;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.v1.BaselineState;
import io.tensorflowignite.v1.ChangeBaselineRequest;
import io.tensorflowignite.v1.MissingNode;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.BaselineNode;
import org.apache.ignite.cluster.ClusterNode;

/** The nodes of the baseline; known also while the cluster is not active. */
public final class Baseline {
  private Baseline() {}

  /** The number of nodes of the baseline; 0 before the first activation. */
  public static int size(Ignite ignite) {
    return nodes(ignite).size();
  }

  /** The nodes of the baseline that are not in the topology, sorted by their consistent ids. */
  public static List<MissingNode> missing(Ignite ignite) {
    Map<String, BaselineNode> missing = new TreeMap<>(byName(nodes(ignite)));
    missing.keySet().removeAll(byName(servers(ignite)).keySet());
    return missing.entrySet().stream()
        .map(
            node ->
                MissingNode.newBuilder()
                    .setConsistentId(node.getKey())
                    .setHost(host(node.getValue()))
                    .build())
        .collect(Collectors.toList());
  }

  /** The names of the server nodes to which Ignite gives no partitions until somebody adds them. */
  public static Set<String> outside(Ignite ignite) {
    if (ignite.cluster().isBaselineAutoAdjustEnabled()) {
      return Set.of();
    }
    Set<String> outside = new HashSet<>(byName(servers(ignite)).keySet());
    outside.removeAll(byName(nodes(ignite)).keySet());
    return outside;
  }

  /**
   * The nodes of the baseline, and the other server nodes of the cluster, sorted by their
   * consistent ids.
   *
   * @param addresses of node APIs, by consistent id
   */
  public static BaselineState state(Ignite ignite, Map<String, String> addresses) {
    Map<String, BaselineNode> members = byName(nodes(ignite));
    Map<String, BaselineNode> online = byName(servers(ignite));
    Map<String, BaselineNode> all = new TreeMap<>(members);
    all.putAll(online);
    BaselineState.Builder state =
        BaselineState.newBuilder().setIsAutomatic(ignite.cluster().isBaselineAutoAdjustEnabled());
    all.forEach(
        (name, node) ->
            state
                .addNodesBuilder()
                .setConsistentId(name)
                .setAddress(addresses.getOrDefault(name, host(node)))
                .setIsMember(members.containsKey(name))
                .setIsOnline(online.containsKey(name)));
    return state.build();
  }

  /** Adds the numbers of nodes to the metrics of a node. */
  public static void observe(Ignite ignite, NodeMetrics metrics) {
    metrics.observe(
        Metric.BASELINE_NODES,
        to -> {
          int offline = missing(ignite).size();
          to.add(size(ignite) - offline, "online");
          to.add(offline, "offline");
          to.add(outside(ignite).size(), "outside");
        });
  }

  /** Changes the baseline; Ignite then moves partitions. */
  public static void change(Ignite ignite, ChangeBaselineRequest request) {
    Map<String, BaselineNode> members = byName(nodes(ignite));
    Map<String, BaselineNode> online = byName(servers(ignite));
    Set<String> next =
        BaselineChange.next(
            request,
            members.keySet(),
            online.keySet(),
            ignite.cluster().isBaselineAutoAdjustEnabled(),
            () -> AbsentCopies.byCache(ignite));
    if (!next.equals(members.keySet())) {
      Map<String, BaselineNode> all = new HashMap<>(members);
      all.putAll(online);
      try {
        ignite
            .cluster()
            .setBaselineTopology(next.stream().map(all::get).collect(Collectors.toList()));
      } catch (IgniteException refused) {
        throw notChanged(refused.getMessage());
      }
    }
    // Ignite answers a second call of a node with the result of the first, which is still going on.
    Set<String> now = byName(nodes(ignite)).keySet();
    if (!now.containsAll(next) || !Collections.disjoint(now, request.getRemoveList())) {
      throw notChanged("another change was made at the same time");
    }
  }

  private static TensorFlowIgniteException notChanged(String reason) {
    return invalidRequest(
        "The baseline is not changed: %s. Ignite makes one change at a time. Repeat this one, or"
            + " see: tensorflow-ignite baseline",
        reason);
  }

  /** For people: {@code node-2 at 10.0.0.3}. */
  public static String text(MissingNode node) {
    return node.getConsistentId() + (node.getHost().isEmpty() ? "" : " at " + node.getHost());
  }

  private static Collection<BaselineNode> nodes(Ignite ignite) {
    return Optional.ofNullable(ignite.cluster().currentBaselineTopology())
        .orElse(Collections.emptyList());
  }

  private static Collection<ClusterNode> servers(Ignite ignite) {
    return ignite.cluster().forServers().nodes();
  }

  private static Map<String, BaselineNode> byName(Collection<? extends BaselineNode> nodes) {
    return nodes.stream()
        .collect(Collectors.toMap(node -> String.valueOf(node.consistentId()), node -> node));
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
