package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.settings.QueueSettings;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Task;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
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
 * admitted when no other job has tasks there, or counts for the quota.
 *
 * <p>A job with one process runs on the node that has room for it and the fewest tasks. Of equal
 * nodes it takes the last that joined, since a rolling restart of all nodes reaches this node last.
 * It keeps its node while the node may run it. The first waiting job with one process reserves all
 * nodes that may run it, since it is not known which node has room first. Each later job with one
 * process reserves one node.
 */
public final class JobQueue {

  /** The time by which one unit of priority moves a job forward. */
  static final long SECONDS_OF_PRIORITY = 600;

  static final Comparator<Job> BY_RANK =
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

  /** The decisions of the queue for all jobs. */
  public static final class Decision {
    /** By id of each job that {@link #mayWait} and can be placed. */
    public final Map<String, Entry> entries = new HashMap<>();

    /** By id of a job with one process: the node that has been chosen for it now. */
    public final Map<String, String> nodes = new HashMap<>();
  }

  private final Map<Resource, Integer> limits;
  private final QueueSettings settings;
  private final Decision decision = new Decision();
  private final Map<Resource, Integer> used = new HashMap<>();
  private final Map<Resource, Integer> reserved = new HashMap<>();
  private final Map<String, Integer> usedByOwner = new HashMap<>();
  private final Set<String> ownersOverQuota = new HashSet<>();
  private int waiting;
  private boolean hasReservedChoice;

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
   * Whether a job has one process that starts or restarts, so that it may need another node, and
   * {@link #decide} is needed.
   */
  public static boolean mayNeedNode(Job job) {
    return KnownValues.areAll(job)
        && KindRules.of(job.getSpec()).isAlone()
        && !JobMachine.isFinal(job)
        && (job.getState() == JOB_STATE_RESTARTING
            || (job.getState() == JOB_STATE_PENDING && job.hasAdmittedAt()));
  }

  /** The node that was chosen for the one process of a job; empty: none. */
  public static String processNode(Job job) {
    if (!job.getProcessNodeId().isEmpty() || job.getAttemptsCount() == 0) {
      return job.getProcessNodeId();
    }
    List<Task> tasks = JobMachine.attempt(job).getTasksList();
    return tasks.isEmpty() ? "" : tasks.get(0).getNodeId();
  }

  /**
   * Decides for all jobs.
   *
   * @param jobs the jobs that are not over
   * @param limits the resources of nodes; a missing resource has no limit
   * @param demand the needs of a job's next attempt; empty: it cannot be placed now, and waits for
   *     a placement outside the queue
   */
  public static Decision decide(
      Collection<Job> jobs,
      Map<Resource, Integer> limits,
      QueueSettings settings,
      Function<Job, Optional<Demand>> demand) {
    JobQueue queue = new JobQueue(limits, settings);
    List<Job> candidates = new ArrayList<>();
    List<Job> withoutNode = new ArrayList<>();
    for (Job job : jobs) {
      if (mayWait(job)) {
        candidates.add(job);
      } else if (!JobMachine.isFinal(job) && (job.getAttemptsCount() > 0 || job.hasAdmittedAt())) {
        boolean isPlacedNext = queue.isPlacedNext(job);
        Optional<Demand> next = isPlacedNext ? demand.apply(job) : Optional.empty();
        Optional<Map<Resource, Integer>> needs =
            isPlacedNext && next.isEmpty()
                ? queue.onChosenNode(job)
                : next.flatMap(of -> of.on(processNode(job)));
        if (next.isPresent() && needs.isEmpty()) {
          withoutNode.add(job);
        } else {
          queue.use(job, queue.held(job, needs));
        }
      }
    }
    withoutNode.sort(BY_RANK);
    for (Job job : withoutNode) {
      demand.apply(job).ifPresent(needed -> queue.choose(job, needed));
    }
    candidates.sort(BY_RANK);
    for (Job job : candidates) {
      demand
          .apply(job)
          .ifPresent(needed -> queue.decision.entries.put(job.getId(), queue.next(job, needed)));
    }
    return queue.decision;
  }

  private static long rankSeconds(Job job) {
    return job.getCreatedAt().getSeconds() - job.getSpec().getPriority() * SECONDS_OF_PRIORITY;
  }

  /**
   * Whether room is kept for the next attempt of an admitted job: it has none yet, or restarts, or
   * is about to since a node has left.
   */
  private boolean isPlacedNext(Job job) {
    return job.getAttemptsCount() == 0
        || job.getState() == JOB_STATE_RESTARTING
        || (job.getState() != JOB_STATE_ENDING
            && !limits.keySet().containsAll(placed(job).keySet()));
  }

  /**
   * The tasks for which an admitted job keeps room: the tasks that it has, and the tasks of its
   * next attempt. A node that was started again has another id, so the tasks of the last attempt
   * alone would keep no room there.
   */
  private Map<Resource, Integer> held(Job job, Optional<Map<Resource, Integer>> next) {
    Map<Resource, Integer> held = placed(job);
    if (next.isPresent()) {
      held.keySet().retainAll(limits.keySet());
      next.get().forEach((resource, count) -> held.merge(resource, count, Math::max));
    }
    return held;
  }

  /**
   * The resources that a process needs on its chosen node, while it cannot be placed: the
   * partitions of its cache may be about to move, while another job's partitions are not.
   */
  private Optional<Map<Resource, Integer>> onChosenNode(Job job) {
    String node = job.getProcessNodeId();
    if (!limits.containsKey(Resource.tasks(node))) {
      return Optional.empty();
    }
    List<Task> tasks = new ArrayList<>();
    tasks.add(Task.newBuilder().setRole(ROLE_WORKER).setNodeId(node).build());
    if (job.getSpec().hasEvaluator()) {
      tasks.add(Task.newBuilder().setRole(ROLE_EVALUATOR).setNodeId(node).build());
    }
    return Optional.of(Placement.needs(job.getSpec(), tasks));
  }

  private static Map<Resource, Integer> placed(Job job) {
    return job.getAttemptsCount() == 0
        ? new HashMap<>()
        : Placement.needs(job.getSpec(), JobMachine.attempt(job).getTasksList());
  }

  /**
   * Chooses another node for the process of an admitted job, and keeps room for it. A job that was
   * admitted starts without room for its tasks too, but not without its GPUs.
   */
  private void choose(Job job, Demand demand) {
    String node = bestNode(demand);
    Map<Resource, Integer> needs = demand.on(node).orElseThrow();
    boolean hasGpus =
        needs.entrySet().stream()
            .noneMatch(need -> need.getKey().isGpu && shortage(need, false) > 0);
    if (hasGpus && mayNeedNode(job)) {
      decision.nodes.put(job.getId(), node);
    }
    use(job, held(job, Optional.of(needs)));
  }

  /** The node on which a process starts first. */
  private String bestNode(Demand demand) {
    List<String> nodes = demand.nodes();
    Collections.reverse(nodes);
    return Collections.min(
        nodes,
        Comparator.comparingLong((String node) -> shortage(demand, node, true))
            .thenComparingLong(node -> shortage(demand, node, false))
            .thenComparingInt(node -> used.getOrDefault(Resource.tasks(node), 0))
            .thenComparingInt(node -> used.getOrDefault(Resource.gpus(node), 0)));
  }

  private long shortage(Demand demand, String node, boolean withReserved) {
    return demand.on(node).orElseThrow().entrySet().stream()
        .mapToLong(need -> shortage(need, withReserved))
        .sum();
  }

  /**
   * How much of a resource is missing; 0: there is room.
   *
   * @param withReserved whether what waiting jobs have reserved counts too
   */
  private long shortage(Map.Entry<Resource, Integer> need, boolean withReserved) {
    Resource resource = need.getKey();
    int limit = limits.getOrDefault(resource, Integer.MAX_VALUE);
    long needed = Math.min(need.getValue(), limit);
    long taken =
        used.getOrDefault(resource, 0) + (withReserved ? reserved.getOrDefault(resource, 0) : 0L);
    return Math.max(0, taken + needed - limit);
  }

  private Entry next(Job job, Demand demand) {
    String node = demand.hasChoice() ? bestNode(demand) : "";
    Map<Resource, Integer> needs = demand.on(node).orElseThrow();
    Optional<String> overQuota = overQuota(job, tasks(needs));
    if (overQuota.isPresent()) {
      ownersOverQuota.add(job.getOwner());
      return wait(overQuota.get());
    }
    if (ownersOverQuota.contains(job.getOwner())) {
      return wait("the jobs of '" + job.getOwner() + "' before it, which need their quota");
    }
    List<String> full = new ArrayList<>();
    boolean isBehind = false;
    for (Map.Entry<Resource, Integer> need : new TreeMap<>(needs).entrySet()) {
      Resource resource = need.getKey();
      if (shortage(need, false) > 0) {
        full.add(
            String.format(
                "node %s (%d of %d %s, %d more needed)",
                MessageText.shortId(resource.node),
                used.getOrDefault(resource, 0),
                limits.get(resource),
                resource.noun(),
                need.getValue()));
      } else if (shortage(need, true) > 0) {
        isBehind = true;
      }
    }
    if (full.isEmpty() && !isBehind) {
      use(job, needs);
      if (demand.hasChoice()) {
        decision.nodes.put(job.getId(), node);
      }
      return new Entry(0, "");
    }
    if (demand.hasChoice() && !hasReservedChoice) {
      hasReservedChoice = true;
      demand.nodes().forEach(each -> reserve(demand.on(each).orElseThrow()));
    } else {
      reserve(needs);
    }
    if (full.isEmpty()) {
      return wait("the jobs before it in the queue, which need the same nodes");
    }
    int choices = demand.hasChoice() ? demand.nodes().size() : 1;
    return wait(
        choices > 1
            ? "room on one of " + choices + " nodes, first on " + full.get(0)
            : "room on " + full.get(0) + others(full.size() - 1));
  }

  private Optional<String> overQuota(Job job, int needed) {
    OptionalInt quota = settings.quota(job.getOwner());
    int owned = usedByOwner.getOrDefault(job.getOwner(), 0);
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

  private void reserve(Map<Resource, Integer> needs) {
    needs.forEach((resource, count) -> reserved.merge(resource, count, Integer::sum));
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
