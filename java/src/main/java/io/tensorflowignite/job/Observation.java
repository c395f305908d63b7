package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.NodeReport;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What the job's service sees of the cluster at one moment. */
final class Observation {
  final Timestamp now;

  /** Ids of the nodes in the topology. */
  final Set<String> nodes;

  /**
   * Ids of nodes that have left and whose process is dead: their host refuses connections to where
   * their API was, or another process has taken their place.
   */
  final Set<String> dead;

  private final Map<String, NodeReport> reports;

  /** The assignment that an attempt could begin with now. */
  final PlacementResult placement;

  final Patience patience;

  Observation(
      Timestamp now,
      Set<String> nodes,
      Set<String> dead,
      Map<String, NodeReport> reports,
      PlacementResult placement,
      Patience patience) {
    this.now = now;
    this.nodes = nodes;
    this.dead = dead;
    this.reports = reports;
    this.placement = placement;
    this.patience = patience;
  }

  /** What the node reports of the attempt; null when it has not reported. */
  NodeReport report(String node, Attempt attempt) {
    NodeReport report = reports.get(node);
    return report != null && report.getAttempt() == attempt.getNumber() ? report : null;
  }

  /** All that nodes report of the attempt. */
  List<NodeReport> reports(Attempt attempt) {
    return reports.values().stream()
        .filter(report -> report.getAttempt() == attempt.getNumber())
        .collect(Collectors.toList());
  }
}
