package io.tensorflowignite.job;

import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_DRAINED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.decide.Placement;
import io.tensorflowignite.job.decide.PlacementResult;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Reads the map of a cache's primary partitions. Right after a topology change Ignite still names
 * nodes that have left, and it moves primaries once more when copies are complete, without a new
 * topology version. So a map counts only if every owner is in the topology, and the map, or the
 * version of all maps, has not changed for 0.8 s.
 */
final class AssignmentReader {
  private static final Duration STABLE = Duration.ofMillis(800);

  private final Ignite ignite;
  private final NodeTable nodes;
  private final CacheLosses losses;
  private final PartitionMapAge age;
  private String lastDigest = "";
  private long unchangedSinceNs;

  AssignmentReader(Ignite ignite, NodeTable nodes, CacheLosses losses) {
    this.ignite = ignite;
    this.losses = losses;
    this.nodes = nodes;
    this.age = PartitionMapAge.of(ignite);
  }

  /**
   * The tasks of a job by node, if it is placed now; empty: it cannot be. The client process counts
   * for the first owner, since the node of the job's service is not known before its admission.
   */
  Optional<Map<String, Integer>> demand(JobSpec spec) {
    Map<Node, List<Integer>> owners = new LinkedHashMap<>();
    if (!ignite.cacheNames().contains(spec.getCache()) || owners(spec, owners).isPresent()) {
      return Optional.empty();
    }
    return Optional.of(
        Placement.of(spec, owners, owners.keySet().iterator().next(), List.of()).tasksByNode());
  }

  PlacementResult read(JobSpec spec, String serviceNode) {
    if (!ignite.cacheNames().contains(spec.getCache())) {
      return PlacementResult.impossible(
          String.format(
              "cache '%s' does not exist any more. A job needs its cache. Load it and submit"
                  + " again.",
              spec.getCache()));
    }
    Map<Node, List<Integer>> owners = new LinkedHashMap<>();
    Optional<String> obstacle = owners(spec, owners);
    if (obstacle.isPresent()) {
      lastDigest = "";
      return PlacementResult.waitFor(obstacle.get());
    }
    Placement placement = Placement.of(spec, owners, clientNode(serviceNode, owners), nodes.live());
    if (!placement.digest().equals(lastDigest)) {
      lastDigest = placement.digest();
      unchangedSinceNs = System.nanoTime();
    }
    Duration unchanged = Duration.ofNanos(System.nanoTime() - unchangedSinceNs);
    return unchanged.compareTo(STABLE) < 0 && age.observe().compareTo(STABLE) < 0
        ? PlacementResult.waitFor("the partition map to stay the same for 0.8 s")
        : PlacementResult.of(placement);
  }

  /**
   * Fills in the owners in the order in which they joined.
   *
   * @return the condition that the job must wait for; empty: the owners are complete.
   */
  private Optional<String> owners(JobSpec spec, Map<Node, List<Integer>> owners) {
    Collection<Integer> lost = ignite.cache(spec.getCache()).lostPartitions();
    if (!lost.isEmpty() && !spec.getAllowDataLoss()) {
      return Optional.of(
          String.format(
              "%d lost partitions of cache '%s' (%s). %s; or, to go on without them:"
                  + " tensorflow-ignite accept-data-loss %2$s",
              lost.size(),
              spec.getCache(),
              MessageText.some(new ArrayList<>(new TreeSet<>(lost))),
              losses.remedy(spec.getCache())));
    }
    Affinity<Object> affinity = ignite.affinity(spec.getCache());
    Map<Integer, ClusterNode> primaries =
        affinity.mapPartitionsToNodes(
            IntStream.range(0, affinity.partitions()).boxed().collect(Collectors.toList()));
    TreeMap<Long, List<Integer>> partitions = new TreeMap<>();
    TreeMap<Long, String> ids = new TreeMap<>();
    for (int partition = 0; partition < affinity.partitions(); partition++) {
      ClusterNode owner = primaries.get(partition);
      if (owner == null || ignite.cluster().node(owner.id()) == null) {
        return Optional.of(
            "an owner of partition " + partition + " of cache '" + spec.getCache() + "'");
      }
      ids.put(owner.order(), owner.id().toString());
      partitions.computeIfAbsent(owner.order(), order -> new ArrayList<>()).add(partition);
    }
    for (Map.Entry<Long, String> id : ids.entrySet()) {
      Optional<Node> node = nodes.get(id.getValue());
      Optional<String> obstacle = missingService(node, id.getValue(), spec.getCache());
      if (obstacle.isPresent()) {
        return obstacle;
      }
      owners.put(node.get(), partitions.get(id.getKey()));
    }
    return leaveDrained(spec, owners);
  }

  /**
   * Gives the partitions of drained nodes to the other owners, which read them over the network: to
   * each of them the next partition in turn.
   */
  private static Optional<String> leaveDrained(JobSpec spec, Map<Node, List<Integer>> owners) {
    List<Integer> moved = new ArrayList<>();
    owners.entrySet().stream()
        .filter(owner -> isDrained(owner.getKey()))
        .forEach(owner -> moved.addAll(owner.getValue()));
    owners.keySet().removeIf(AssignmentReader::isDrained);
    if (owners.isEmpty()) {
      return Optional.of(
          "a node that owns partitions of cache '"
              + spec.getCache()
              + "' and is not drained. See: tensorflow-ignite drain --help");
    }
    if (owners.size() < spec.getMinWorkers()) {
      return Optional.of(
          String.format(
              "%d workers (min_workers=%d); nodes that own partitions now: %d, of cache '%s'",
              spec.getMinWorkers(), spec.getMinWorkers(), owners.size(), spec.getCache()));
    }
    List<List<Integer>> others = new ArrayList<>(owners.values());
    for (int i = 0; i < moved.size(); i++) {
      others.get(i % others.size()).add(moved.get(i));
    }
    return Optional.empty();
  }

  private static boolean isDrained(Node node) {
    return node.getAvailability() == NODE_AVAILABILITY_DRAINED;
  }

  private static Optional<String> missingService(Optional<Node> node, String id, String cache) {
    String owner =
        "node " + MessageText.shortId(id) + ", which owns partitions of cache '" + cache + "',";
    if (!node.isPresent()) {
      return Optional.of(owner + " to run the service tensorflow-ignite");
    }
    // A drained node gets no task anyway.
    if (node.get().getQuarantineCount() > 0 && !isDrained(node.get())) {
      return Optional.of(owner + " to leave its quarantine: " + quarantine(node.get()));
    }
    if (node.get().getAvailability() == NODE_AVAILABILITY_STOPPING) {
      return Optional.of(owner + " to stop");
    }
    AgentInfo agent = node.get().getAgent();
    return agent.getPid() == 0 && !isDrained(node.get())
        ? Optional.of(
            owner
                + " to have an agent"
                + (agent.getError().isEmpty() ? "" : ": " + agent.getError()))
        : Optional.empty();
  }

  private static String quarantine(Node node) {
    return node.getQuarantineList().stream()
        .map(
            attempt ->
                String.format(
                    "the end of attempt %d of job %s is not proven there",
                    attempt.getAttempt(), attempt.getJobId()))
        .collect(Collectors.joining(", "));
  }

  /** The node of the job's service if it has an agent and can get tasks, else the first owner. */
  private Node clientNode(String serviceNode, Map<Node, List<Integer>> owners) {
    return nodes
        .get(serviceNode)
        .filter(node -> node.getAgent().getPid() != 0 && node.getQuarantineCount() == 0)
        .filter(node -> node.getAvailability() == NODE_AVAILABILITY_UNSPECIFIED)
        .orElse(owners.keySet().iterator().next());
  }
}
