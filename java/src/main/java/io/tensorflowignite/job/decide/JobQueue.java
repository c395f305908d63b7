package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Which of the waiting jobs may start. A node has room for a limited number of tasks and has a
 * number of GPUs, and an owner of jobs has a quota. Jobs are admitted in the order of their ranks:
 * the time of submission, less ten minutes for each unit of priority, so that each job comes first
 * at some time. A job that waits for room reserves the nodes that it needs: jobs of later ranks get
 * only the rest. A job that waits for the quota of its owner reserves no node, and later jobs of
 * the same owner wait behind it. A job that needs more than a node has, or than a quota allows, is
 * admitted when nothing else is there.
 */
public final class JobQueue {
  public static final int MAX_PRIORITY = 100;

  /** By which one unit of priority moves a job forward. */
  static final long SECONDS_OF_PRIORITY = 600;

  private static final Comparator<Job> BY_RANK =
      Comparator.comparingLong(JobQueue::rankSeconds)
          .thenComparingInt(job -> job.getCreatedAt().getNanos())
          .thenComparing(Job::getId);

  /** A job that is not over and has not been admitted, although its tasks can be placed. */
  public static final class Entry {
    /** The job's position among those that wait, from 1; 0: it is admitted. */
    public final int position;

    /** What the job waits for, in one line; empty: it is admitted. */
    public final String reason;

    private Entry(int position, String reason) {
      this.position = position;
      this.reason = reason;
    }

    public boolean isAdmitted() {
      return position == 0;
    }
  }

  private final Map<Resource, Integer> limits;
  private final QueueSettings settings;
  private final Map<Resource, Integer> used = new HashMap<>();
  private final Map<Resource, Integer> reserved = new HashMap<>();
  private final Map<String, Integer> usedByOwner = new HashMap<>();
  private final Set<String> ownersOverQuota = new HashSet<>();
  private int waiting;

  private JobQueue(Map<Resource, Integer> limits, QueueSettings settings) {
    this.limits = limits;
    this.settings = settings;
  }

  /** Whether a job waits for its admission, so that {@link #decide} is needed. */
  public static boolean mayWait(Job job) {
    return job.getState() == JOB_STATE_PENDING
        && !job.hasAdmittedAt()
        && !job.getStopRequested()
        && KnownValues.areAll(job);
  }

  /**
   * Decides for all jobs.
   *
   * @param jobs the jobs that are not over
   * @param limits what nodes have; a resource that is missing has no limit
   * @param demand what a job's next attempt needs; empty: it cannot be placed now, and waits for
   *     that outside the queue
   * @return by id of each job that {@link #mayWait} and can be placed
   */
  public static Map<String, Entry> decide(
      Collection<Job> jobs,
      Map<Resource, Integer> limits,
      QueueSettings settings,
      Function<Job, Optional<Map<Resource, Integer>>> demand) {
    JobQueue queue = new JobQueue(limits, settings);
    List<Job> candidates = new ArrayList<>();
    for (Job job : jobs) {
      if (mayWait(job)) {
        candidates.add(job);
      } else if (job.getAttemptsCount() > 0 && !JobMachine.isFinal(job)) {
        queue.use(job, queue.held(job, demand));
      } else if (job.hasAdmittedAt() && !JobMachine.isFinal(job)) {
        queue.use(job, demand.apply(job).orElse(Map.of()));
      }
    }
    candidates.sort(BY_RANK);
    Map<String, Entry> entries = new HashMap<>();
    for (Job job : candidates) {
      demand.apply(job).ifPresent(needed -> entries.put(job.getId(), queue.next(job, needed)));
    }
    return entries;
  }

  private static long rankSeconds(Job job) {
    return job.getCreatedAt().getSeconds() - job.getSpec().getPriority() * SECONDS_OF_PRIORITY;
  }

  /**
   * The tasks for which an attempted job keeps room: those that it has, and those of its next
   * attempt if it restarts, or is about to since a node has left. A node that was started again has
   * another id, so the tasks of the last attempt alone would leave the room to others.
   */
  private Map<Resource, Integer> held(
      Job job, Function<Job, Optional<Map<Resource, Integer>>> demand) {
    Map<Resource, Integer> placed = placed(job);
    boolean restarts =
        job.getState() == JOB_STATE_RESTARTING
            || (job.getState() != JOB_STATE_ENDING
                && !limits.keySet().containsAll(placed.keySet()));
    Optional<Map<Resource, Integer>> next = restarts ? demand.apply(job) : Optional.empty();
    if (next.isEmpty()) {
      return placed;
    }
    placed.keySet().retainAll(limits.keySet());
    next.get().forEach((resource, count) -> placed.merge(resource, count, Math::max));
    return placed;
  }

  private static Map<Resource, Integer> placed(Job job) {
    return Placement.needs(job.getSpec(), JobMachine.attempt(job).getTasksList());
  }

  private Entry next(Job job, Map<Resource, Integer> demand) {
    Optional<String> overQuota = overQuota(job, demand);
    if (overQuota.isPresent()) {
      ownersOverQuota.add(job.getOwner());
      return wait(overQuota.get());
    }
    if (ownersOverQuota.contains(job.getOwner())) {
      return wait("the jobs of '" + job.getOwner() + "' before it, which need their quota");
    }
    List<String> full = new ArrayList<>();
    boolean isBehind = false;
    for (Map.Entry<Resource, Integer> need : new TreeMap<>(demand).entrySet()) {
      Resource resource = need.getKey();
      int limit = limits.getOrDefault(resource, Integer.MAX_VALUE);
      int inUse = used.getOrDefault(resource, 0);
      long needed = Math.min(need.getValue(), limit);
      if (inUse + needed > limit) {
        full.add(
            String.format(
                "node %s (%d of %d %s, %d more needed)",
                MessageText.shortId(resource.node),
                inUse,
                limit,
                resource.noun(),
                need.getValue()));
      } else if (inUse + reserved.getOrDefault(resource, 0) + needed > limit) {
        isBehind = true;
      }
    }
    if (full.isEmpty() && !isBehind) {
      use(job, demand);
      return new Entry(0, "");
    }
    demand.forEach((resource, count) -> reserved.merge(resource, count, Integer::sum));
    return wait(
        full.isEmpty()
            ? "the jobs before it in the queue, which need the same nodes"
            : "room on " + full.get(0) + others(full.size() - 1));
  }

  private Optional<String> overQuota(Job job, Map<Resource, Integer> demand) {
    OptionalInt quota = settings.quota(job.getOwner());
    int owned = usedByOwner.getOrDefault(job.getOwner(), 0);
    int needed = tasks(demand);
    return quota.isPresent() && owned > 0 && owned + needed > quota.getAsInt()
        ? Optional.of(
            String.format(
                "the quota of '%s' (%d of %d tasks, %d more needed)",
                job.getOwner(), owned, quota.getAsInt(), needed))
        : Optional.empty();
  }

  private void use(Job job, Map<Resource, Integer> needs) {
    needs.forEach((resource, count) -> used.merge(resource, count, Integer::sum));
    usedByOwner.merge(job.getOwner(), tasks(needs), Integer::sum);
  }

  private Entry wait(String reason) {
    waiting++;
    return new Entry(waiting, "a place in the queue (position " + waiting + "): " + reason);
  }

  private static String others(int nodes) {
    return nodes == 0 ? "" : nodes == 1 ? " and another node" : " and " + nodes + " other nodes";
  }

  private static int tasks(Map<Resource, Integer> needs) {
    return needs.entrySet().stream()
        .filter(need -> !need.getKey().isGpu)
        .mapToInt(Map.Entry::getValue)
        .sum();
  }
}
