package io.tensorflowignite.job;

import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_DRAINED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.ignite.PartitionMapAge;
import io.tensorflowignite.job.decide.Demand;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.job.decide.Placement;
import io.tensorflowignite.job.decide.PlacementResult;
import io.tensorflowignite.job.decide.Resource;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.Job;
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
  private final RateLimitedLog log;
  private String lastDigest = "";
  private long unchangedSinceNs;

  AssignmentReader(Ignite ignite, NodeTable nodes, CacheLosses losses) {
    this.ignite = ignite;
    this.losses = losses;
    this.nodes = nodes;
    this.age = PartitionMapAge.of(ignite);
    this.log = new RateLimitedLog(ignite.log().getLogger(AssignmentReader.class));
  }

  /**
   * The demand of a job, if it is placed now; empty: it cannot be placed. The client process counts
   * for the first node, since the node of the job's service is not known before its admission. A
   * cache that Ignite is destroying now is logged, and does not delay other jobs.
   */
  Optional<Demand> demand(JobSpec spec) {
    try {
      return demandNow(spec);
    } catch (RuntimeException e) {
      log.error("A job cannot be placed now [cache=" + spec.getCache() + "]", e);
      return Optional.empty();
    }
  }

  private Optional<Demand> demandNow(JobSpec spec) {
    Map<Node, List<Integer>> owners = new LinkedHashMap<>();
    if (!ignite.cacheNames().contains(spec.getCache()) || owners(spec, owners).isPresent()) {
      return Optional.empty();
    }
    List<Node> candidates = candidates(spec, owners);
    if (!KindRules.of(spec).isAlone()) {
      return place(spec, "", owners, candidates).placement().map(of -> Demand.of(of.needs()));
    }
    Map<String, Map<Resource, Integer>> byNode = new LinkedHashMap<>();
    for (Node node : working(candidates)) {
      place(spec, "", owners, List.of(node))
          .placement()
          .ifPresent(placement -> byNode.put(node.getId(), placement.needs()));
    }
    return byNode.isEmpty() ? Optional.empty() : Optional.of(Demand.onOneOf(byNode));
  }

  /**
   * The placement of a job's next attempt, or the condition that it waits for.
   *
   * @param serviceNode the node of the job's service
   */
  PlacementResult read(Job job, String serviceNode) {
    JobSpec spec = job.getSpec();
    if (!ignite.cacheNames().contains(spec.getCache())) {
      return PlacementResult.impossible(
          String.format(
              "cache '%s' does not exist any more. A job needs its cache. Load it and submit"
                  + " again.",
              spec.getCache()));
    }
    PlacementResult placed = place(job, serviceNode);
    if (placed.placement().isEmpty()) {
      lastDigest = "";
      return placed;
    }
    String digest = placed.placement().get().digest;
    if (!digest.equals(lastDigest)) {
      lastDigest = digest;
      unchangedSinceNs = System.nanoTime();
    }
    Duration unchanged = Duration.ofNanos(System.nanoTime() - unchangedSinceNs);
    return unchanged.compareTo(STABLE) < 0 && age.observe().compareTo(STABLE) < 0
        ? PlacementResult.waitFor("the partition map to stay the same for 0.8 s")
        : placed;
  }

  private PlacementResult place(Job job, String serviceNode) {
    JobSpec spec = job.getSpec();
    Map<Node, List<Integer>> owners = new LinkedHashMap<>();
    Optional<String> obstacle = owners(spec, owners);
    if (obstacle.isPresent()) {
      return PlacementResult.waitFor(obstacle.get());
    }
    List<Node> candidates = candidates(spec, owners);
    if (!KindRules.of(spec).isAlone() || working(candidates).isEmpty()) {
      return place(spec, serviceNode, owners, candidates);
    }
    Optional<Node> node = processNode(job, working(candidates));
    return node.isPresent()
        ? place(spec, serviceNode, owners, List.of(node.get()))
        : withoutNode(spec);
  }

  /** The queue chooses a node at once, unless it waits for GPUs of other jobs. */
  private static PlacementResult withoutNode(JobSpec spec) {
    String condition = "a node with room for its process";
    PlacementResult without = PlacementResult.waitFor(condition);
    return spec.getWorkers().getGpus() == 0 ? without : without.waitForGpus(condition);
  }

  /**
   * The node that was chosen for the process of a job. While the job is in the queue, and while no
   * node chooses since the oldest one is of an earlier version, it is the last that joined.
   */
  private Optional<Node> processNode(Job job, List<Node> working) {
    Optional<Node> chosen =
        working.stream().filter(node -> node.getId().equals(JobQueue.processNode(job))).findFirst();
    return chosen.isPresent() || (job.hasAdmittedAt() && JobAdmission.isInCharge(nodes))
        ? chosen
        : Optional.of(working.get(working.size() - 1));
  }

  private PlacementResult place(
      JobSpec spec, String serviceNode, Map<Node, List<Integer>> owners, List<Node> candidates) {
    if (candidates.isEmpty()) {
      return PlacementResult.waitFor(noCandidate(spec));
    }
    KindRules kind = KindRules.of(spec);
    for (Node candidate : candidates) {
      Optional<String> missing = missingAgent(candidate);
      if (missing.isPresent()) {
        return PlacementResult.waitFor(missing.get());
      }
    }
    List<Node> servers = candidates;
    if (kind.hasParameterServers() && spec.getStrategy().getServerNodesCount() > 0) {
      servers = serving(spec.getStrategy().getServerNodesMap());
      if (servers.isEmpty()) {
        return PlacementResult.waitFor(
            "a node for parameter servers, with an agent and "
                + NodeAttributes.text(spec.getStrategy().getServerNodesMap()));
      }
    }
    Map<Node, List<Integer>> readers = Placement.readers(owners, candidates);
    Placement placement =
        Placement.of(spec, readers, servers, clientNode(serviceNode, candidates), nodes.live());
    return placement.workers() < spec.getWorkers().getMinimum()
        ? PlacementResult.waitFor(tooFewWorkers(spec, readers.size(), placement.workers()))
        : PlacementResult.of(placement);
  }

  private static String tooFewWorkers(JobSpec spec, int nodes, long workers) {
    return String.format(
        "%d workers (workers.minimum=%d); there are %d now, on %d nodes that read partitions of"
            + " cache '%s'",
        spec.getWorkers().getMinimum(),
        spec.getWorkers().getMinimum(),
        workers,
        nodes,
        spec.getCache());
  }

  /**
   * Fills in the owners in the order in which they joined.
   *
   * @return the condition that the job must wait for; empty: the owners are complete.
   */
  private Optional<String> owners(JobSpec spec, Map<Node, List<Integer>> owners) {
    Collection<Integer> lost = ignite.cache(spec.getCache()).lostPartitions();
    if (!lost.isEmpty() && !spec.getRestart().getAllowDataLoss()) {
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
      String owner =
          String.format(
              "node %s, which owns partitions of cache '%s',",
              MessageText.shortId(id.getValue()), spec.getCache());
      if (node.isEmpty()) {
        return Optional.of(owner + " to run the service tensorflow-ignite");
      }
      if (node.get().getAvailability() == NODE_AVAILABILITY_STOPPING) {
        return Optional.of(owner + " to stop");
      }
      owners.put(node.get(), partitions.get(id.getKey()));
    }
    return Optional.empty();
  }

  /**
   * The nodes that may get workers, in the order in which they joined: the owners of partitions, or
   * if the job names attributes or needs GPUs, all nodes that have them. Drained nodes get none.
   */
  private List<Node> candidates(JobSpec spec, Map<Node, List<Integer>> owners) {
    boolean onOwners = spec.getWorkers().getNodesCount() == 0 && spec.getWorkers().getGpus() == 0;
    Collection<Node> all = onOwners ? owners.keySet() : nodes.live();
    return all.stream()
        .filter(node -> !isDrained(node))
        .filter(node -> node.getAvailability() != NODE_AVAILABILITY_STOPPING)
        .filter(node -> NodeAttributes.suit(ignite, node, spec))
        .collect(Collectors.toList());
  }

  private static String noCandidate(JobSpec spec) {
    if (spec.getWorkers().getGpus() > 0) {
      return String.format(
          "a node that is not drained with %d GPUs%s",
          spec.getWorkers().getGpus(),
          spec.getWorkers().getNodesCount() == 0
              ? ""
              : " and " + NodeAttributes.text(spec.getWorkers().getNodesMap()));
    }
    return spec.getWorkers().getNodesCount() == 0
        ? "a node that owns partitions of cache '"
            + spec.getCache()
            + "' and is not drained. See: tensorflow-ignite drain --help"
        : "a node with "
            + NodeAttributes.text(spec.getWorkers().getNodesMap())
            + " that is not drained";
  }

  private static List<Node> working(List<Node> candidates) {
    return candidates.stream()
        .filter(node -> missingAgent(node).isEmpty())
        .collect(Collectors.toList());
  }

  /** The nodes with these attributes that can get tasks. */
  private List<Node> serving(Map<String, String> attributes) {
    return nodes.live().stream()
        .filter(node -> NodeAttributes.have(ignite, node, attributes))
        .filter(node -> node.getAvailability() == NODE_AVAILABILITY_UNSPECIFIED)
        .filter(node -> missingAgent(node).isEmpty())
        .collect(Collectors.toList());
  }

  private static boolean isDrained(Node node) {
    return node.getAvailability() == NODE_AVAILABILITY_DRAINED;
  }

  /** The condition that a node lacks to get tasks; empty: none. */
  private static Optional<String> missingAgent(Node node) {
    String name = "node " + MessageText.shortId(node.getId());
    if (node.getQuarantineCount() > 0) {
      return Optional.of(name + " to leave its quarantine: " + quarantine(node));
    }
    AgentInfo agent = node.getAgent();
    return agent.getPid() == 0
        ? Optional.of(
            name
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

  /** The node of the job's service if it can get tasks, else the first one with workers. */
  private Node clientNode(String serviceNode, List<Node> workers) {
    return nodes
        .get(serviceNode)
        .filter(node -> missingAgent(node).isEmpty())
        .filter(node -> node.getAvailability() == NODE_AVAILABILITY_UNSPECIFIED)
        .orElse(workers.get(0));
  }
}
