package io.tensorflowignite.job.decide;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptOrBuilder;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The state of the cluster at one moment, as a job's service observes it. */
public final class Observation {
  /** The time of this node's clock: for people, never for a decision. */
  final Timestamp now;

  private final JobClock clock;

  /** Ids of the nodes in the topology. */
  final Set<String> nodes;

  /** Consistent ids of the nodes in the topology. */
  final Set<String> consistentIds;

  /** Ids of nodes that have left because they were stopped, after the end of their tasks. */
  final Set<String> leftInOrder;

  /**
   * Ids of nodes whose agents have proved, after the nodes left, that the attempt has terminated.
   */
  final Set<String> terminated;

  private final Map<String, NodeReport> reports;

  /** Partitions of the job's cache that have lost all their copies. */
  final Set<Integer> lostPartitions;

  /** The placement of an attempt that would start now. */
  final PlacementResult placement;

  final JobTimeouts timeouts;

  /** Whether the job waits in the queue: it may not be placed before its admission. */
  final boolean isQueued;

  public Observation(
      Timestamp now,
      JobClock clock,
      Set<String> nodes,
      Set<String> consistentIds,
      Set<String> leftInOrder,
      Set<String> terminated,
      Map<String, NodeReport> reports,
      Set<Integer> lostPartitions,
      PlacementResult placement,
      JobTimeouts timeouts,
      boolean isQueued) {
    this.now = now;
    this.clock = clock;
    this.nodes = nodes;
    this.consistentIds = consistentIds;
    this.leftInOrder = leftInOrder;
    this.terminated = terminated;
    this.reports = reports;
    this.lostPartitions = lostPartitions;
    this.placement = placement;
    this.timeouts = timeouts;
    this.isQueued = isQueued;
  }

  /**
   * Whether the topology is still the same. A transaction waits for a node that does not answer
   * until this node has left. An observation from before is not used any more, since another
   * attempt may start on the other side of a cut network.
   */
  public boolean isOf(Set<String> nodesNow) {
    return nodes.equals(nodesNow);
  }

  /** Whether the job waits for other jobs: for its admission, or for GPUs that they have. */
  public boolean waitsForOthers() {
    return isQueued || placement.gpus != null;
  }

  /** Measures the moments of the job's row, see {@link JobClock}. */
  void measure(Job job) {
    clock.observe(job, nodes);
  }

  /** The time since the job's service first observed that a node with tasks has left. */
  Duration sinceLeft(String node) {
    return clock.sinceLeft(node);
  }

  /** The time since the job's service first observed a moment of the job's row. */
  Duration since(Timestamp moment) {
    return clock.since(moment);
  }

  /** Measures the time since a moment of the job's row anew. */
  void restart(Timestamp moment) {
    clock.restart(moment);
  }

  /** The node's report of the attempt; null when it has not reported. */
  NodeReport report(String node, AttemptOrBuilder attempt) {
    NodeReport report = reports.get(node);
    return report != null && report.getAttempt() == attempt.getNumber() ? report : null;
  }

  /** All reports of the attempt. */
  List<NodeReport> reports(Attempt attempt) {
    return reports.values().stream()
        .filter(report -> report.getAttempt() == attempt.getNumber())
        .collect(Collectors.toList());
  }
}
