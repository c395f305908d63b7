package io.tensorflowignite.job;

import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Takes the map of a cache's primary partitions. Right after a topology change Ignite still names
 * nodes that are gone, so a map counts only when every owner is in the topology and the same map
 * was seen twice in a row.
 */
final class Assignments {
  private final Ignite ignite;
  private final NodeTable nodes;
  private String lastDigest = "";

  Assignments(Ignite ignite, NodeTable nodes) {
    this.ignite = ignite;
    this.nodes = nodes;
  }

  PlacementResult take(JobSpec spec, String serviceNode) {
    if (!ignite.cacheNames().contains(spec.getCache())) {
      return PlacementResult.impossible(
          "cache '"
              + spec.getCache()
              + "' does not exist any more. A job needs its cache. Load it and submit again.");
    }
    Map<String, List<Integer>> owners = new LinkedHashMap<>();
    Optional<String> obstacle = owners(spec.getCache(), owners);
    if (obstacle.isPresent()) {
      lastDigest = "";
      return PlacementResult.waitFor(obstacle.get());
    }
    Placement placement = Placement.of(spec, owners, host(serviceNode, owners));
    if (!placement.digest().equals(lastDigest)) {
      lastDigest = placement.digest();
      return PlacementResult.waitFor("the same partition map twice in a row");
    }
    return PlacementResult.of(placement);
  }

  /**
   * Fills in the owners in the order in which the nodes joined; or tells what stands in the way.
   */
  private Optional<String> owners(String cache, Map<String, List<Integer>> owners) {
    Affinity<Object> affinity = ignite.affinity(cache);
    Map<Integer, ClusterNode> primaries =
        affinity.mapPartitionsToNodes(
            IntStream.range(0, affinity.partitions()).boxed().collect(Collectors.toList()));
    TreeMap<Long, List<Integer>> byOrder = new TreeMap<>();
    Map<Long, String> ids = new TreeMap<>();
    for (int partition = 0; partition < affinity.partitions(); partition++) {
      ClusterNode owner = primaries.get(partition);
      if (owner == null || ignite.cluster().node(owner.id()) == null) {
        return Optional.of("an owner of partition " + partition + " of cache '" + cache + "'");
      }
      ids.put(owner.order(), owner.id().toString());
      byOrder.computeIfAbsent(owner.order(), order -> new ArrayList<>()).add(partition);
    }
    for (Map.Entry<Long, List<Integer>> entry : byOrder.entrySet()) {
      String id = ids.get(entry.getKey());
      Optional<String> obstacle = unfit(nodes.get(id), id, cache);
      if (obstacle.isPresent()) {
        return obstacle;
      }
      owners.put(id, entry.getValue());
    }
    return Optional.empty();
  }

  private static Optional<String> unfit(Optional<Node> node, String id, String cache) {
    String who = "node " + Texts.shortId(id) + ", which owns partitions of cache '" + cache + "',";
    if (!node.isPresent()) {
      return Optional.of(who + " to run the service tensorflow-ignite");
    }
    AgentInfo agent = node.get().getAgent();
    return agent.getPid() == 0
        ? Optional.of(
            who + " to have an agent" + (agent.getError().isEmpty() ? "" : ": " + agent.getError()))
        : Optional.empty();
  }

  /**
   * The node that hosts the client process: the service's own if it has an agent, else the first
   * that has data.
   */
  private String host(String serviceNode, Map<String, List<Integer>> owners) {
    return nodes.get(serviceNode).filter(node -> node.getAgent().getPid() != 0).isPresent()
        ? serviceNode
        : owners.keySet().iterator().next();
  }
}
