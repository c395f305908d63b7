package io.tensorflowignite.job;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.decide.Demand;
import io.tensorflowignite.job.decide.GpuWait;
import io.tensorflowignite.job.decide.JobClock;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.JobTimeouts;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.job.decide.Observation;
import io.tensorflowignite.job.decide.PlacementResult;
import io.tensorflowignite.job.decide.QuorumRule;
import io.tensorflowignite.job.decide.Resource;
import io.tensorflowignite.lease.Departures;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeReport;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/** Observes the cluster for one job. */
final class ClusterView {
  private final Ignite ignite;
  private final ClusterSettings settings;
  private final NodeTable nodes;
  private final AssignmentReader assignments;
  private final CacheLosses losses;
  private final Departures departures;
  private final JobTable jobs;

  ClusterView(Ignite ignite, ClusterSettings settings) {
    this.ignite = ignite;
    this.settings = settings;
    this.losses = new CacheLosses(ignite);
    this.nodes = new NodeTable(ignite);
    this.assignments = new AssignmentReader(ignite, nodes, losses);
    this.departures = Departures.of(ignite);
    this.jobs = new JobTable(ignite);
  }

  /**
   * @param reported the reports of nodes on the newest attempt, by node
   * @param terminated the nodes whose agents have proved its end after the nodes left
   */
  Observation observe(
      Job job,
      Map<String, NodeReport> reported,
      Set<String> terminated,
      String serviceNode,
      JobClock clock) {
    Collection<ClusterNode> topology = ignite.cluster().forServers().nodes();
    return new Observation(
        Timestamps.fromMillis(System.currentTimeMillis()),
        clock,
        ids(topology),
        topology.stream().map(node -> node.consistentId().toString()).collect(Collectors.toSet()),
        departures.inOrder(),
        terminated,
        known(reported),
        losses.permanent(job.getSpec().getCache()),
        withGpus(job, assignments.read(job, serviceNode)),
        JobTimeouts.of(job.getSpec(), settings),
        JobQueue.mayWait(job) && JobAdmission.isInCharge(nodes));
  }

  /** The placement; if the job would get another attempt by it, with the GPUs it waits for. */
  private PlacementResult withGpus(Job job, PlacementResult placed) {
    return placed
        .placement()
        .filter(placement -> GpuWait.isPossible(job, placement))
        .flatMap(placement -> GpuWait.of(job, placement, jobs.current(), gpus(), this::demand))
        .map(placed::waitForGpus)
        .orElse(placed);
  }

  private Map<Resource, Integer> gpus() {
    return nodes.live().stream()
        .collect(Collectors.toMap(node -> Resource.gpus(node.getId()), Node::getGpusCount));
  }

  /** What another job needs next. */
  private Optional<Demand> demand(Job other) {
    return QuorumRule.holds(other, Members.consistentIds(nodes.live()))
        ? assignments.demand(other.getSpec())
        : Optional.empty();
  }

  /** Whether the nodes are still the same as in an observation. */
  boolean isCurrent(Observation observation) {
    return observation.isOf(ids(ignite.cluster().forServers().nodes()));
  }

  private static Set<String> ids(Collection<ClusterNode> nodes) {
    return nodes.stream().map(node -> node.id().toString()).collect(Collectors.toSet());
  }

  /** A report with values of a later version is waited for, until this service knows its values. */
  private static Map<String, NodeReport> known(Map<String, NodeReport> reported) {
    Map<String, NodeReport> known = new HashMap<>(reported);
    known.values().removeIf(report -> !KnownValues.areAll(report));
    return known;
  }
}
