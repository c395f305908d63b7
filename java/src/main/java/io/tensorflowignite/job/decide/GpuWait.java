package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The GPUs that an admitted job waits for before its next attempt. The queue admits a job once.
 * Later attempts follow the data to other nodes; other jobs may have the GPUs of these nodes.
 *
 * <p>A GPU is not free for a job while it is
 *
 * <ul>
 *   <li>of another job's attempt that is not proven terminated;
 *   <li>on the node that the queue has chosen for the process of another job that starts or
 *       restarts, since that was promised;
 *   <li>needed by the next attempt of a job that was submitted earlier, and that starts or
 *       restarts.
 * </ul>
 *
 * <p>No two jobs wait for each other. A job between two attempts holds no GPU in this sense. It
 * waits only for running jobs, for jobs with one process, and for earlier jobs. Jobs with one
 * process wait only for running jobs. A running job waits to move, and runs meanwhile.
 */
public final class GpuWait {
  private final Job job;
  private final Function<Job, Optional<Demand>> demand;
  private final Map<Resource, Integer> taken = new HashMap<>();
  private final Map<Resource, List<String>> holders = new HashMap<>();

  private GpuWait(Job job, Function<Job, Optional<Demand>> demand) {
    this.job = job;
    this.demand = demand;
  }

  /**
   * Whether a job may wait for GPUs: it needs some, the queue has admitted it, and an attempt with
   * this placement would be another one than it has.
   */
  public static boolean isPossible(Job job, Placement placement) {
    return job.getSpec().getWorkers().getGpus() > 0
        && !JobMachine.isFinal(job)
        && !JobQueue.mayWait(job)
        && !(hasAttempt(job)
            && JobMachine.attempt(job).getAssignmentDigest().equals(placement.digest));
  }

  /**
   * What a job waits for, in one line; empty: the GPUs for the placement are free.
   *
   * @param current the jobs that are not over; the job itself may be one of them
   * @param gpus the number of GPUs of each node
   * @param demand the GPUs that a job's next attempt needs; empty: it cannot be placed now
   */
  public static Optional<String> of(
      Job job,
      Placement placement,
      Collection<Job> current,
      Map<Resource, Integer> gpus,
      Function<Job, Optional<Demand>> demand) {
    GpuWait wait = new GpuWait(job, demand);
    current.stream()
        .filter(other -> !other.getId().equals(job.getId()) && !JobMachine.isFinal(other))
        .sorted(JobQueue.BY_RANK)
        .forEach(wait::take);
    return new TreeMap<>(placement.needs())
        .entrySet().stream()
            .filter(need -> need.getKey().isGpu)
            .filter(need -> wait.isShort(need, gpus.getOrDefault(need.getKey(), 0)))
            .findFirst()
            .map(need -> wait.text(need, gpus.getOrDefault(need.getKey(), 0)));
  }

  /** Whether the job has an attempt whose end was not decided yet. */
  private static boolean hasAttempt(Job job) {
    return job.getAttemptsCount() > 0 && job.getState() != JOB_STATE_RESTARTING;
  }

  /** Whether the job starts or restarts, so that it gets an attempt as soon as it can be placed. */
  private static boolean isPlacedNext(Job job) {
    return KnownValues.areAll(job)
        && (job.getState() == JOB_STATE_RESTARTING
            || (job.getState() == JOB_STATE_PENDING && job.hasAdmittedAt()));
  }

  private void take(Job other) {
    Map<Resource, Integer> held = new HashMap<>();
    if (other.getAttemptsCount() > 0) {
      Attempt attempt = JobMachine.attempt(other);
      if (!attempt.hasFinishedAt()) {
        held.putAll(Placement.needs(other.getSpec(), attempt.getTasksList()));
      }
    }
    Map<Resource, Integer> next = isPlacedNext(other) ? next(other) : Map.of();
    next.forEach((resource, count) -> held.merge(resource, count, Math::max));
    held.forEach(
        (resource, count) -> {
          taken.merge(resource, count, Integer::sum);
          holders
              .computeIfAbsent(resource, node -> new ArrayList<>())
              .add(MessageText.shortId(other.getId()));
        });
  }

  /** What another job gets before this one. */
  private Map<Resource, Integer> next(Job other) {
    boolean isPromised = KindRules.of(other.getSpec()).isAlone();
    boolean isBefore = isPromised || hasAttempt(job) || JobQueue.BY_RANK.compare(other, job) < 0;
    if (other.getSpec().getWorkers().getGpus() == 0
        || !isBefore
        || KindRules.of(job.getSpec()).isAlone()) {
      return Map.of();
    }
    return demand
        .apply(other)
        .flatMap(needed -> needed.on(JobQueue.processNode(other)))
        .orElse(Map.of());
  }

  private boolean isShort(Map.Entry<Resource, Integer> need, int limit) {
    int others = taken.getOrDefault(need.getKey(), 0);
    return others > 0 && others + need.getValue() > limit;
  }

  private String text(Map.Entry<Resource, Integer> need, int limit) {
    List<String> jobs = holders.get(need.getKey());
    return String.format(
        "GPUs of node %s (%d of %d taken, %d needed), which %s %s or %s first",
        MessageText.shortId(need.getKey().node),
        Math.min(limit, taken.get(need.getKey())),
        limit,
        need.getValue(),
        (jobs.size() == 1 ? "job " : "jobs ") + String.join(", ", jobs),
        jobs.size() == 1 ? "has" : "have",
        jobs.size() == 1 ? "gets" : "get");
  }
}
