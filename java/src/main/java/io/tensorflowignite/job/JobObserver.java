package io.tensorflowignite.job;

import static io.tensorflowignite.job.JobEvent.Type.DATA_LOST;
import static io.tensorflowignite.job.JobEvent.Type.DATA_MOVED;
import static io.tensorflowignite.job.JobEvent.Type.GIVEN_UP;
import static io.tensorflowignite.job.JobEvent.Type.HEALTHY;
import static io.tensorflowignite.job.JobEvent.Type.NODE_LOST;
import static io.tensorflowignite.job.JobEvent.Type.PLACEMENT_FAILED;
import static io.tensorflowignite.job.JobEvent.Type.START_TIMED_OUT;
import static io.tensorflowignite.job.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_GONE;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RESERVED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RUNNING;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_SUCCEEDED;
import static io.tensorflowignite.job.JobEvent.Type.TASK_CRASHED;
import static io.tensorflowignite.job.JobEvent.Type.TASK_REPLACED;
import static io.tensorflowignite.job.JobEvent.Type.WAIT_TIMED_OUT;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.OnJoin;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Compares a job's row with what is seen of the cluster: says which event, if any, the difference
 * amounts to. Level triggered: nothing depends on how often, or after which message, it is asked.
 */
final class JobObserver {
  private static final Set<TaskState> BEFORE_RUNNING =
      EnumSet.of(TaskState.TASK_PLACED, TaskState.TASK_RESERVED);

  private final Job job;
  private final Observation seen;

  private JobObserver(Job job, Observation seen) {
    this.job = job;
    this.seen = seen;
  }

  /**
   * The row after everything that the observation implies: reports folded in, then events applied
   * until none is left.
   *
   * @param told hears of each transition.
   */
  static Job step(Job job, Observation seen, Consumer<JobMachine.Transition> told) {
    Job current = Folding.fold(job, seen);
    Optional<JobEvent> event = new JobObserver(current, seen).next();
    while (event.isPresent()) {
      told.accept(JobMachine.transition(current, event.get()));
      current = JobMachine.apply(current, event.get(), seen.now);
      event = new JobObserver(current, seen).next();
    }
    return current.toBuilder().setWaitingFor(new JobObserver(current, seen).waitingFor()).build();
  }

  private Optional<JobEvent> next() {
    switch (job.getState()) {
      case PENDING:
        return firstOf(stopRequested(), lostData(), placement(), waitedTooLong(job.getCreatedAt()));
      case RESERVING:
        return firstOf(
            stopRequested(),
            lostData(),
            lostNode(),
            crash(),
            movedData(),
            all(task -> state(task) != TaskState.TASK_PLACED, TASKS_RESERVED),
            startedLate());
      case STARTING:
        return firstOf(
            success(),
            stopRequested(),
            lostData(),
            lostNode(),
            crash(),
            movedData(),
            all(task -> !BEFORE_RUNNING.contains(state(task)), TASKS_RUNNING),
            startedLate());
      case RUNNING:
        return firstOf(
            success(), stopRequested(), lostData(), lostNode(), crash(), movedData(), healthy());
      case RESTARTING:
        return whileRestarting();
      case ENDING:
        return Gone.awaited(job, seen).isEmpty()
            ? Optional.of(JobEvent.of(TASKS_GONE))
            : Optional.empty();
      default:
        return Optional.empty();
    }
  }

  /**
   * Nothing is decided about the next attempt before the last one is proven gone: what is seen
   * until then counts too.
   */
  private Optional<JobEvent> whileRestarting() {
    Optional<JobEvent> now = firstOf(stopRequested(), lostData(), blamedNode());
    if (now.isPresent() || !Gone.awaited(job, seen).isEmpty()) {
      return now;
    }
    Optional<JobEvent> moved = blamedMove();
    if (moved.isPresent() || mayHaveMoved()) {
      return moved;
    }
    Optional<JobEvent> end = Budget.exhausted(job).map(why -> JobEvent.because(GIVEN_UP, why));
    if (end.isPresent() || isPausing()) {
      return end;
    }
    return firstOf(placement(), waitedTooLong(attempt().getEndingAt()));
  }

  private Optional<JobEvent> placement() {
    if (!placementAwaited().isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        seen.placement.impossible != null
            ? JobEvent.because(PLACEMENT_FAILED, seen.placement.impossible)
            : JobEvent.placed(seen.placement.placement));
  }

  private Optional<JobEvent> waitedTooLong(Timestamp since) {
    Duration waited = since(since);
    if (waited.compareTo(seen.patience.assignment) < 0) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            WAIT_TIMED_OUT,
            String.format(
                "job %s waited %.0f s (wait timeout %.0f s) for %s. See: tensorflow-ignite nodes",
                job.getId(),
                seconds(waited),
                seconds(seen.patience.assignment),
                placementAwaited())));
  }

  private Optional<JobEvent> stopRequested() {
    return job.getStopRequested()
        ? Optional.of(JobEvent.because(STOP_REQUESTED, "stopped on request"))
        : Optional.empty();
  }

  private Optional<JobEvent> lostData() {
    if (job.getLostPartitionsCount() == 0 || job.getSpec().getAllowDataLoss()) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            DATA_LOST,
            String.format(
                "data lost: %d partitions of cache '%s' have lost all their copies (%s). A job goes"
                    + " on without rows only if it is told to. Load the cache again, with more"
                    + " backups, or submit with --allow-data-loss.",
                job.getLostPartitionsCount(),
                job.getSpec().getCache(),
                Texts.some(job.getLostPartitionsList()))));
  }

  private Optional<JobEvent> lostNode() {
    return firstMissing()
        .map(
            task ->
                JobEvent.because(
                    NODE_LOST,
                    String.format(
                        "node %s with %s has left the cluster",
                        Texts.shortId(task.getNodeId()), Texts.name(task))));
  }

  private Optional<JobEvent> blamedNode() {
    return looksLikeCrash() ? lostNode() : Optional.empty();
  }

  /** A task whose rows are elsewhere all of a sudden cannot read them any more. */
  private Optional<JobEvent> blamedMove() {
    Attempt attempt = attempt();
    boolean moved =
        looksLikeCrash()
            && !attempt.getMovedDigest().isEmpty()
            && duration(attempt.getEndingAt(), attempt.getMovedAt()).compareTo(seen.patience.quiet)
                <= 0;
    return moved
        ? Optional.of(
            JobEvent.because(
                DATA_MOVED,
                "the primary partitions of cache '"
                    + job.getSpec().getCache()
                    + "' had moved, or were about to"))
        : Optional.empty();
  }

  /** Whether it is too early to tell, soon after a crash: the map of partitions is changing. */
  private boolean mayHaveMoved() {
    return looksLikeCrash()
        && tasks().stream().noneMatch(task -> task.getStatus().getHopeless())
        && seen.placement.waitingFor != null
        && since(attempt().getEndingAt()).compareTo(seen.patience.quiet) <= 0;
  }

  private boolean looksLikeCrash() {
    CauseKind kind = attempt().getCauseKind();
    return kind == CauseKind.CRASH || kind == CauseKind.START_TIMEOUT;
  }

  private Optional<Task> firstMissing() {
    return tasks().stream().filter(task -> !seen.nodes.contains(task.getNodeId())).findFirst();
  }

  private Optional<JobEvent> crash() {
    Optional<Task> failed =
        tasks().stream()
            .filter(this::hasFailed)
            .min(
                Comparator.comparing(
                    task -> task.getStatus().getFinishedAt(), Timestamps.comparator()));
    if (failed.isPresent()) {
      Task task = failed.get();
      return Optional.of(
          JobEvent.ofTask(isReplaceable(task) ? TASK_REPLACED : TASK_CRASHED, task, failure(task)));
    }
    return seen.reports(attempt()).stream()
        .filter(report -> !report.getError().isEmpty())
        .findFirst()
        .map(
            report ->
                JobEvent.because(
                    TASK_CRASHED,
                    "node " + Texts.shortId(report.getNodeId()) + ": " + report.getError()));
  }

  /**
   * A server ends only when it is told to: its end before the client process's is a failure,
   * whatever its exit code.
   */
  private boolean hasFailed(Task task) {
    TaskState state = state(task);
    return state == TaskState.TASK_FAILED
        || state == TaskState.TASK_STOPPED
        || (isParameterServer()
            && task.getRole() != Role.CLIENT
            && state == TaskState.TASK_SUCCEEDED);
  }

  /**
   * TensorFlow takes a worker or a client process of a parameter-server job back; what a lost
   * server held is gone.
   */
  private boolean isReplaceable(Task task) {
    return isParameterServer()
        && job.getState() == JobState.RUNNING
        && task.getRole() != Role.PS
        && !task.getStatus().getAgentLost()
        && tasks().stream().noneMatch(other -> other.getRole() == Role.PS && hasFailed(other))
        && Budget.allowsReplacement(job, task);
  }

  private static String failure(Task task) {
    String error = task.getStatus().getError();
    return String.format(
        "%s on node %s failed: %s",
        Texts.name(task),
        Texts.shortId(task.getNodeId()),
        error.isEmpty() ? "exited with code " + task.getStatus().getExitCode() : error);
  }

  private Optional<JobEvent> success() {
    Role counts = isParameterServer() ? Role.CLIENT : Role.WORKER;
    boolean done =
        tasks().stream()
            .filter(task -> task.getRole() == counts)
            .allMatch(task -> state(task) == TaskState.TASK_SUCCEEDED);
    return done ? Optional.of(JobEvent.of(TASKS_SUCCEEDED)) : Optional.empty();
  }

  private Optional<JobEvent> startedLate() {
    Duration since = since(attempt().getStartedAt());
    if (since.compareTo(seen.patience.start) < 0) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            START_TIMED_OUT,
            String.format(
                "not every task ran %.0f s after attempt %d began (start timeout %.0f s); missing:"
                    + " %s",
                seconds(since), attempt().getNumber(), seconds(seen.patience.start), unstarted())));
  }

  private Optional<JobEvent> movedData() {
    Attempt attempt = attempt();
    if (attempt.getMovedDigest().isEmpty() || job.getSpec().getOnJoin() == OnJoin.IGNORE) {
      return Optional.empty();
    }
    Duration quiet = since(attempt.getMovedAt());
    boolean saved = Folding.checkpointStep(attempt) > attempt.getMovedCheckpointStep();
    if (quiet.compareTo(seen.patience.quiet) < 0
        || (job.getSpec().getOnJoin() == OnJoin.AT_CHECKPOINT && !saved)) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            DATA_MOVED,
            String.format(
                "the primary partitions of cache '%s' are elsewhere since %.1f s (quiet time %.1f"
                    + " s)",
                job.getSpec().getCache(), seconds(quiet), seconds(seen.patience.quiet))));
  }

  private Optional<JobEvent> healthy() {
    Duration since = since(attempt().getRunningAt());
    if (job.getCrashes() == 0 || since.compareTo(seen.patience.healthy) < 0) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            HEALTHY,
            String.format(
                "crashes (%d) are counted anew after %.0f s without one",
                job.getCrashes(), seconds(since))));
  }

  private Optional<JobEvent> all(Predicate<Task> holds, JobEvent.Type type) {
    return tasks().stream().allMatch(holds) ? Optional.of(JobEvent.of(type)) : Optional.empty();
  }

  private boolean isPausing() {
    return job.hasNotBefore() && Timestamps.compare(seen.now, job.getNotBefore()) < 0;
  }

  private String waitingFor() {
    switch (job.getState()) {
      case PENDING:
        return placementAwaited();
      case RESERVING:
      case STARTING:
        return unstarted();
      case RESTARTING:
        if (!Gone.awaited(job, seen).isEmpty()) {
          return proofAwaited();
        }
        return isPausing()
            ? "the pause after crash " + job.getCrashes() + " to end"
            : placementAwaited();
      case ENDING:
        return proofAwaited();
      default:
        return "";
    }
  }

  private String placementAwaited() {
    return Majority.awaited(job, seen)
        .orElse(seen.placement.waitingFor == null ? "" : seen.placement.waitingFor);
  }

  private String proofAwaited() {
    return Gone.awaited(job, seen).stream()
        .map(node -> "node " + Texts.shortId(node))
        .collect(Collectors.joining(", ", "proof that its tasks are gone: ", ""));
  }

  private String unstarted() {
    return tasks().stream()
        .filter(task -> BEFORE_RUNNING.contains(state(task)))
        .map(task -> Texts.name(task) + " on node " + Texts.shortId(task.getNodeId()))
        .collect(Collectors.joining(", "));
  }

  private boolean isParameterServer() {
    return job.getSpec().getKind() == JobKind.PARAMETER_SERVER;
  }

  private Attempt attempt() {
    return JobMachine.attempt(job);
  }

  private List<Task> tasks() {
    return attempt().getTasksList();
  }

  private Duration since(Timestamp moment) {
    return duration(moment, seen.now);
  }

  private static Duration duration(Timestamp from, Timestamp to) {
    return Duration.ofMillis(Durations.toMillis(Timestamps.between(from, to)));
  }

  private static TaskState state(Task task) {
    return task.getStatus().getState();
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }

  @SafeVarargs
  private static Optional<JobEvent> firstOf(Optional<JobEvent>... events) {
    for (Optional<JobEvent> event : events) {
      if (event.isPresent()) {
        return event;
      }
    }
    return Optional.empty();
  }
}
