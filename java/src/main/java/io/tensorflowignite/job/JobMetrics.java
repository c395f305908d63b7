package io.tensorflowignite.job;

import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_FAILED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_LEFT;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_PLANNED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_START_TIMEOUT;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PREDICT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.Throughput;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The metrics of jobs: from this node's copies of the tables, and from the reports on the jobs that
 * this node serves. So a report of metrics calls no other node. Rows are read at most once a
 * second.
 */
public final class JobMetrics {
  /** The jobs of a node with metrics of their own: the oldest ones. */
  static final int MAX_JOBS = 100;

  private static final int MAX_NAME = 100;
  private static final long AGE_NANOS = 1_000_000_000;

  /** The causes after which jobs go on. */
  private static final Set<CauseKind> RESTARTING =
      EnumSet.of(
          CAUSE_KIND_CRASH,
          CAUSE_KIND_STALL,
          CAUSE_KIND_NODE_LEFT,
          CAUSE_KIND_NODE_FAILED,
          CAUSE_KIND_DATA_MOVED,
          CAUSE_KIND_START_TIMEOUT,
          CAUSE_KIND_PLANNED);

  private final Supplier<List<Job>> jobs;
  private final Supplier<List<Job>> served;
  private final LongSupplier clock;
  private View view;
  private long viewedAt;

  /**
   * @param jobs all jobs of the cluster
   * @param served the jobs that this node serves, as their services observe them
   * @param clock a monotonic clock in nanoseconds
   */
  JobMetrics(Supplier<List<Job>> jobs, Supplier<List<Job>> served, LongSupplier clock) {
    this.jobs = jobs;
    this.served = served;
    this.clock = clock;
  }

  /** Adds the metrics of jobs to those of a node. */
  public static void observe(NodeMetrics metrics, JobIndex index, ReportInbox inbox) {
    new JobMetrics(index::all, inbox::served, System::nanoTime).observe(metrics, inbox::restarts);
  }

  void observe(NodeMetrics metrics, Supplier<Map<CauseKind, Long>> restarts) {
    metrics.observe(
        Metric.JOBS, to -> view().states.forEach((state, n) -> to.add(n, lower(state))));
    metrics.observe(Metric.QUEUED, to -> to.add(view().queued));
    metrics.observe(
        Metric.JOB_RESTARTS,
        to ->
            RESTARTING.forEach(
                cause ->
                    to.add(
                        restarts.get().getOrDefault(cause, 0L), lower(MessageText.name(cause)))));
    metrics.observe(Metric.JOBS_LEFT_OUT, to -> to.add(view().leftOut));
    each(metrics, Metric.JOB_RUNNING, job -> some(job.getState() == JOB_STATE_RUNNING ? 1 : 0));
    each(metrics, Metric.JOB_ATTEMPTS, job -> some(JobMachine.attemptNumber(job)));
    each(metrics, Metric.JOB_STEP, job -> positive(newest(job).getLastStep()));
    each(metrics, Metric.JOB_CHECKPOINT_STEP, JobMetrics::checkpointStep);
    each(
        metrics,
        Metric.JOB_STEPS_PER_SECOND,
        job -> speeds(job).stream().mapToDouble(Throughput::getStepsPerSecond).max());
    each(
        metrics,
        Metric.JOB_EXAMPLES_PER_SECOND,
        job -> sum(speeds(job), Throughput::getExamplesPerSecond));
    each(
        metrics,
        Metric.JOB_INPUT_WAIT_RATIO,
        job ->
            speeds(job).stream()
                .filter(speed -> speed.getExamplesPerSecond() > 0)
                .mapToDouble(Throughput::getInputWait)
                .average());
    each(
        metrics,
        Metric.JOB_MEMORY_BYTES,
        job -> sum(running(job), task -> task.getStatus().getMemoryBytes()));
    each(
        metrics,
        Metric.JOB_SNAPSHOT_BYTES,
        job -> sum(running(job), task -> task.getStatus().getProgress().getSnapshotBytes()));
  }

  private void each(NodeMetrics metrics, Metric metric, Function<Job, OptionalDouble> value) {
    metrics.observe(
        metric,
        to ->
            view()
                .shown
                .forEach(
                    job ->
                        value
                            .apply(job)
                            .ifPresent(number -> to.add(number, job.getId(), name(job)))));
  }

  private static String name(Job job) {
    String name = job.getSpec().getName();
    return name.length() <= MAX_NAME ? name : name.substring(0, MAX_NAME);
  }

  private static OptionalDouble some(double value) {
    return OptionalDouble.of(value);
  }

  private static OptionalDouble positive(double value) {
    return value > 0 ? some(value) : OptionalDouble.empty();
  }

  private static <T> OptionalDouble sum(Collection<T> all, Function<T, ? extends Number> value) {
    return all.isEmpty()
        ? OptionalDouble.empty()
        : some(all.stream().mapToDouble(one -> value.apply(one).doubleValue()).sum());
  }

  private static OptionalDouble checkpointStep(Job job) {
    if (job.getSpec().getStrategy().getKind() == JOB_KIND_PREDICT) {
      return OptionalDouble.empty();
    }
    long saved =
        newest(job).getTasksList().stream()
            .mapToLong(task -> task.getStatus().getProgress().getCheckpointStep())
            .max()
            .orElse(0);
    return some(Math.max(saved, newest(job).getResumedFromStep()));
  }

  private static Attempt newest(Job job) {
    return job.getAttemptsCount() == 0 ? Attempt.getDefaultInstance() : JobMachine.attempt(job);
  }

  private static List<Task> running(Job job) {
    return newest(job).getTasksList().stream()
        .filter(task -> task.getStatus().getState() == TASK_STATE_RUNNING)
        .collect(Collectors.toList());
  }

  /** Of the tasks that train. */
  private static List<Throughput> speeds(Job job) {
    return running(job).stream()
        .filter(task -> task.getRole() != ROLE_EVALUATOR)
        .map(task -> task.getStatus().getProgress())
        .filter(Progress::hasThroughput)
        .map(Progress::getThroughput)
        .collect(Collectors.toList());
  }

  /** As the commands show it. */
  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static String lower(JobState state) {
    return lower(MessageText.name(state));
  }

  private static final class View {
    final Map<JobState, Integer> states = new EnumMap<>(JobState.class);
    long queued;
    List<Job> shown;
    int leftOut;
  }

  private synchronized View view() {
    long now = clock.getAsLong();
    if (view == null || now - viewedAt >= AGE_NANOS) {
      view = read();
      viewedAt = now;
    }
    return view;
  }

  private View read() {
    View read = new View();
    for (JobState state : JobState.values()) {
      if (state != JobState.UNRECOGNIZED && state != JobState.JOB_STATE_UNSPECIFIED) {
        read.states.put(state, 0);
      }
    }
    for (Job job : jobs.get()) {
      JobState state =
          read.states.containsKey(job.getState()) ? job.getState() : JobState.JOB_STATE_UNREADABLE;
      read.states.merge(state, 1, Integer::sum);
      if (JobQueue.mayWait(job)) {
        read.queued++;
      }
    }
    List<Job> own = served.get();
    read.shown =
        own.stream()
            .sorted(
                Comparator.comparingLong((Job job) -> job.getCreatedAt().getSeconds())
                    .thenComparing(Job::getId))
            .limit(MAX_JOBS)
            .collect(Collectors.toList());
    read.leftOut = own.size() - read.shown.size();
    return read;
  }
}
