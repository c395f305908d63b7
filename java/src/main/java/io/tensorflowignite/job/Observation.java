package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.NodeReport;
import java.time.Duration;
import java.util.Map;
import java.util.Set;

/** What the job's service sees of the cluster at one moment. */
final class Observation {
  final Timestamp now;

  /** Ids of the nodes in the topology. */
  final Set<String> nodes;

  /** What nodes report of the current attempt, by node. */
  final Map<String, NodeReport> reports;

  /** Only looked for while the job is PENDING. */
  final PlacementResult placement;

  final Duration startTimeout;

  /** After so long without its node's heartbeat an agent has killed its tasks. */
  final Duration leaseTimeout;

  Observation(
      Timestamp now,
      Set<String> nodes,
      Map<String, NodeReport> reports,
      PlacementResult placement,
      Duration startTimeout,
      Duration leaseTimeout) {
    this.now = now;
    this.nodes = nodes;
    this.reports = reports;
    this.placement = placement;
    this.startTimeout = startTimeout;
    this.leaseTimeout = leaseTimeout;
  }
}
