package io.tensorflowignite.simulation;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.job.decide.JobClock;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobObserver;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.JobTimeouts;
import io.tensorflowignite.job.decide.Observation;
import io.tensorflowignite.job.decide.ReportThrottle;
import io.tensorflowignite.job.decide.RowWrites;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.NodeReport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The service of a job on one node: as {@code JobService}, with the same rules. */
final class SimulatedService {
  private static final long TICK_MS = 1_000;

  /** Longer than that of a real one, which takes more passes and decides the same. */
  private static final long PLACEMENT_TICK_MS = 300;

  private final Simulation simulation;
  private final SimulatedCluster cluster;
  private final SimulatedNode node;
  private final String jobId;
  private final JobClock clock;
  private final RowWrites writes;
  private final Map<String, NodeReport> reports = new HashMap<>();
  private boolean over;
  private boolean busy;
  private boolean passPending;
  private long ticks;

  SimulatedService(
      Simulation simulation, SimulatedCluster cluster, SimulatedNode node, String jobId) {
    this.simulation = simulation;
    this.cluster = cluster;
    this.node = node;
    this.jobId = jobId;
    this.clock = new JobClock(node::nanos);
    this.writes = new RowWrites(node.nanos());
    wake();
  }

  void cancel() {
    over = true;
  }

  void add(NodeReport report) {
    NodeReport known = reports.get(report.getNodeId());
    if (known == null || ReportThrottle.isNewer(report, known)) {
      reports.put(report.getNodeId(), report);
      wake();
    }
  }

  void wake() {
    if (!passPending && !over) {
      passPending = true;
      node.after(1, this::pass);
    }
  }

  private void tickAfter(long millis) {
    ticks++;
    long tick = ticks;
    node.after(
        millis,
        () -> {
          if (tick == ticks) {
            wake();
          }
        });
  }

  private void pass() {
    passPending = false;
    if (over || busy) {
      return;
    }
    Job row = node.row(jobId);
    if (row == null) {
      tickAfter(TICK_MS);
      return;
    }
    if (row.getAttemptsCount() > 0) {
      int newest = JobMachine.attemptNumber(row);
      reports.values().removeIf(report -> report.getAttempt() < newest);
    }
    Observation observation = observe(row);
    List<JobMachine.Transition> transitions = new ArrayList<>();
    Job observed = JobObserver.step(hostedHere(row), observation, transitions::add);
    if (writes.isDue(row, observed, !transitions.isEmpty(), node.nanos())) {
      busy = true;
      node.after(simulation.between(3, 40), () -> commit(observation));
    } else {
      next(observed);
    }
  }

  private void commit(Observation observation) {
    if (over) {
      return;
    }
    if (node.cell == null || node.cell.isBlocked(node)) {
      node.after(200, () -> commit(observation));
      return;
    }
    busy = false;
    if (!observation.isOf(node.view.keySet())) {
      wake();
      return;
    }
    Job after =
        node.cell.update(
            jobId,
            job ->
                JobObserver.step(
                    hostedHere(job),
                    observation,
                    transition ->
                        simulation.log(
                            "%s (cluster of %d) decides for job %s, attempt %d: %s",
                            node.id(),
                            node.cell.members.size(),
                            jobId,
                            JobMachine.attemptNumber(job),
                            transition)));
    if (after != null && JobMachine.isFinal(after)) {
      over = true;
    } else {
      next(after == null ? Job.getDefaultInstance() : after);
    }
  }

  private void next(Job job) {
    boolean placing =
        job.getState() == JobState.JOB_STATE_PENDING
            || job.getState() == JobState.JOB_STATE_RESTARTING;
    tickAfter(placing ? PLACEMENT_TICK_MS : TICK_MS);
  }

  private Observation observe(Job job) {
    Set<String> nodes = new HashSet<>();
    Set<String> consistentIds = new HashSet<>();
    for (SimulatedNode other : node.view.values()) {
      nodes.add(other.id());
      consistentIds.add(other.consistentId());
    }
    return new Observation(
        Timestamps.fromMillis(node.clockMillis()),
        clock,
        nodes,
        consistentIds,
        new HashSet<>(node.leftInOrder),
        Set.of(),
        new HashMap<>(reports),
        Set.of(),
        cluster.placement(job, node),
        JobTimeouts.of(job.getSpec(), SimulatedCluster.SETTINGS),
        JobQueue.mayWait(job));
  }

  private Job hostedHere(Job job) {
    Job hosted = cluster.withoutDeparted(job, node);
    return JobMachine.isFinal(job) ? job : hosted.toBuilder().setServiceNodeId(node.id()).build();
  }
}
