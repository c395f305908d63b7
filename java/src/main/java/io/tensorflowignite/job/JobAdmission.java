package io.tensorflowignite.job;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.decide.Demand;
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
import io.tensorflowignite.v1.Restart;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.ignite.Ignite;

/**
 * The queue of jobs over the cluster's tables. Any node can list what jobs wait for. Only the
 * oldest node admits jobs, and chooses the node of a job with one process, one pass after the
 * other, so that no room is assigned twice.
 */
public final class JobAdmission {
  private final JobTable jobs;
  private final NodeTable nodes;
  private final QueueSettings settings;
  private final AssignmentReader assignments;

  public JobAdmission(
      Ignite ignite, ClusterSettings settings, JobTable jobs, NodeTable nodes, CacheLosses losses) {
    this.jobs = jobs;
    this.nodes = nodes;
    this.settings = settings.queue;
    this.assignments = new AssignmentReader(ignite, nodes, losses);
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
    return decide(current).entries;
  }

  private JobQueue.Decision decide(Collection<Job> current) {
    if (current.stream().noneMatch(job -> JobQueue.mayWait(job) || JobQueue.mayNeedNode(job))) {
      return new JobQueue.Decision();
    }
    Map<Resource, Integer> limits = new HashMap<>();
    for (Node node : nodes.live()) {
      if (node.getMaxTasks() > 0) {
        limits.put(Resource.tasks(node.getId()), node.getMaxTasks());
        limits.put(Resource.gpus(node.getId()), node.getGpusCount());
      }
    }
    Set<String> here = Members.consistentIds(nodes.live());
    Map<JobSpec, Optional<Demand>> demands = new HashMap<>();
    return JobQueue.decide(
        current,
        limits,
        settings,
        job ->
            QuorumRule.holds(job, here)
                ? demands.computeIfAbsent(decisive(job.getSpec()), assignments::demand)
                : Optional.empty());
  }

  /**
   * Admits the jobs for which there is room, and chooses nodes for jobs with one process that need
   * another one.
   *
   * @return the jobs that wait, by id
   */
  Map<String, JobQueue.Entry> admit(Collection<Job> current) {
    JobQueue.Decision decision = decide(current);
    Map<String, JobQueue.Entry> queue = new HashMap<>(decision.entries);
    queue.forEach(
        (id, entry) -> {
          if (entry.isAdmitted()) {
            String node = decision.nodes.getOrDefault(id, "");
            jobs.update(id, job -> JobQueue.mayWait(job) ? admitted(job, node) : job);
          }
        });
    decision.nodes.forEach(
        (id, node) -> {
          if (!queue.containsKey(id)) {
            jobs.update(
                id,
                job ->
                    JobQueue.mayNeedNode(job)
                        ? job.toBuilder().setProcessNodeId(node).build()
                        : job);
          }
        });
    queue.values().removeIf(JobQueue.Entry::isAdmitted);
    return queue;
  }

  private static Job admitted(Job job, String node) {
    return job.toBuilder()
        .setAdmittedAt(Timestamps.fromMillis(System.currentTimeMillis()))
        .setProcessNodeId(node)
        .build();
  }

  /**
   * The fields that decide the number of tasks: the partition map is read once for jobs with equal
   * fields.
   */
  private static JobSpec decisive(JobSpec spec) {
    JobSpec.Builder decisive =
        JobSpec.newBuilder()
            .setCache(spec.getCache())
            .setStrategy(spec.getStrategy())
            .setWorkers(spec.getWorkers())
            .setRestart(
                Restart.newBuilder().setAllowDataLoss(spec.getRestart().getAllowDataLoss()));
    if (spec.hasEvaluator()) {
      decisive.setEvaluator(Evaluator.getDefaultInstance());
    }
    return decisive.build();
  }
}
