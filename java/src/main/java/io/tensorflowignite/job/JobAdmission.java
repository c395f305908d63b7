package io.tensorflowignite.job;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.job.decide.QuorumRule;
import io.tensorflowignite.job.decide.Resource;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Evaluator;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.ignite.Ignite;

/**
 * The queue of jobs over the cluster's tables. Any node may ask who waits for what; only the oldest
 * node admits jobs, one pass after the other, so that no room is given away twice.
 */
public final class JobAdmission {
  private final JobTable jobs;
  private final NodeTable nodes;
  private final QueueSettings settings;
  private final AssignmentReader assignments;
  private final RateLimitedLog log;

  public JobAdmission(
      Ignite ignite, ClusterSettings settings, JobTable jobs, NodeTable nodes, CacheLosses losses) {
    this.jobs = jobs;
    this.nodes = nodes;
    this.settings = settings.queue;
    this.assignments = new AssignmentReader(ignite, nodes, losses);
    this.log = new RateLimitedLog(ignite.log().getLogger(JobAdmission.class));
  }

  /** Whether the oldest node admits jobs; one of an earlier version does not. */
  static boolean isInCharge(NodeTable nodes) {
    List<Node> live = nodes.live();
    return live.isEmpty() || live.get(0).getMaxTasks() > 0;
  }

  /**
   * The jobs that wait for their admission and can be placed, with their positions, and those that
   * may be admitted now.
   *
   * @param current the jobs that are not over
   */
  public Map<String, JobQueue.Entry> queue(Collection<Job> current) {
    if (current.stream().noneMatch(JobQueue::mayWait)) {
      return Map.of();
    }
    Map<Resource, Integer> limits = new HashMap<>();
    for (Node node : nodes.live()) {
      if (node.getMaxTasks() > 0) {
        limits.put(Resource.tasks(node.getId()), node.getMaxTasks());
        limits.put(Resource.gpus(node.getId()), node.getGpusCount());
      }
    }
    Set<String> here = Members.consistentIds(nodes.live());
    Map<JobSpec, Optional<Map<Resource, Integer>>> demands = new HashMap<>();
    return JobQueue.decide(
        current,
        limits,
        settings,
        job ->
            QuorumRule.holds(job, here)
                ? demands.computeIfAbsent(decisive(job.getSpec()), this::demand)
                : Optional.empty());
  }

  /** A cache that Ignite is just destroying must not hold up the jobs of others. */
  private Optional<Map<Resource, Integer>> demand(JobSpec spec) {
    try {
      return assignments.demand(spec);
    } catch (RuntimeException e) {
      log.error("A waiting job cannot be placed now [cache=" + spec.getCache() + "]", e);
      return Optional.empty();
    }
  }

  /**
   * Admits the jobs for which there is room.
   *
   * @return the jobs that wait, by id
   */
  Map<String, JobQueue.Entry> admit(Collection<Job> current) {
    Map<String, JobQueue.Entry> queue = new HashMap<>(queue(current));
    for (Map.Entry<String, JobQueue.Entry> entry : queue.entrySet()) {
      if (entry.getValue().isAdmitted()) {
        jobs.update(
            entry.getKey(),
            job ->
                JobQueue.mayWait(job)
                    ? job.toBuilder()
                        .setAdmittedAt(Timestamps.fromMillis(System.currentTimeMillis()))
                        .build()
                    : job);
      }
    }
    queue.values().removeIf(JobQueue.Entry::isAdmitted);
    return queue;
  }

  /** What the number of tasks depends on: the partition map is read once for jobs alike. */
  private static JobSpec decisive(JobSpec spec) {
    JobSpec.Builder decisive =
        JobSpec.newBuilder()
            .setKind(spec.getKind())
            .setCache(spec.getCache())
            .setPsCount(spec.getPsCount())
            .setMinWorkers(spec.getMinWorkers())
            .setAllowDataLoss(spec.getAllowDataLoss())
            .setWorkersPerNode(spec.getWorkersPerNode())
            .setGpusPerWorker(spec.getGpusPerWorker())
            .putAllNodes(spec.getNodesMap())
            .putAllPsNodes(spec.getPsNodesMap())
            .addAllRoles(spec.getRolesList());
    if (spec.hasEvaluator()) {
      decisive.setEvaluator(Evaluator.getDefaultInstance());
    }
    return decisive.build();
  }
}
