package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobEvent.Type.DATA_LOST;
import static io.tensorflowignite.job.decide.JobEvent.Type.DATA_MOVED;
import static io.tensorflowignite.job.decide.JobEvent.Type.HEALTHY;
import static io.tensorflowignite.job.decide.JobEvent.Type.NODE_FAILED;
import static io.tensorflowignite.job.decide.JobEvent.Type.NODE_LOST;
import static io.tensorflowignite.job.decide.JobEvent.Type.NO_ROWS;
import static io.tensorflowignite.job.decide.JobEvent.Type.PLACEMENT_FAILED;
import static io.tensorflowignite.job.decide.JobEvent.Type.RETRIES_EXHAUSTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.START_TIMED_OUT;
import static io.tensorflowignite.job.decide.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_RESERVED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_RUNNING;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_SUCCEEDED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_TERMINATED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_ABANDONED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_CRASHED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_REPLACED;
import static io.tensorflowignite.job.decide.JobEvent.Type.WAIT_TIMED_OUT;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_SAVE;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_FAILED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_START_TIMEOUT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.OnJoin.ON_JOIN_AT_CHECKPOINT;
import static io.tensorflowignite.v1.OnJoin.ON_JOIN_IGNORE;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_PLACED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.OnJoin;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Compares a job's row with the observed cluster, and finds the event that follows from the
 * difference. Level triggered: the result does not depend on how often, or after which message, the
 * row is compared.
 */
public final class JobObserver {
  private static final Set<TaskState> BEFORE_RUNNING =
      EnumSet.of(TASK_STATE_PLACED, TASK_STATE_RESERVED);

  private final Job job;
  private final KindRules kind;
  private final Observation observation;

  private JobObserver(Job job, Observation observation) {
    this.job = job;
    this.kind = KindRules.of(job.getSpec());
    this.observation = observation;
  }

  /**
   * Merges the reports into the row, then applies events until none is left.
   *
   * @param listener gets each transition.
   * @return the changed row.
   */
  public static Job step(
      Job job, Observation observation, Consumer<JobMachine.Transition> listener) {
    Job current = ReportMerge.merge(job, observation);
    observation.measure(current);
    Optional<JobEvent> event = new JobObserver(current, observation).next();
    while (event.isPresent()) {
      listener.accept(JobMachine.transition(current, event.get()));
      current = JobMachine.apply(current, event.get(), observation.now);
      event = new JobObserver(current, observation).next();
    }
    JobObserver after = new JobObserver(current, observation);
    return (after.hasFreedGpus() ? JobMachine.finishAttempt(current, observation.now) : current)
        .toBuilder().setWaitingFor(after.waitingFor()).build();
  }

  /** Whether other jobs, which see this row alone, may get the GPUs of the last attempt. */
  private boolean hasFreedGpus() {
    return job.getState() == JOB_STATE_RESTARTING
        && job.getSpec().getWorkers().getGpus() > 0
        && !attempt().hasFinishedAt()
        && unproven().isEmpty();
  }

  private Optional<JobEvent> next() {
    switch (job.getState()) {
      case JOB_STATE_PENDING:
        return firstOf(stopRequested(), lostData(), whilePending());
      case JOB_STATE_RESERVING:
        return firstOf(
            stopRequested(),
            lostData(),
            lostNode(),
            crash(),
            movedData(),
            EndPlan.requested(job),
            all(task -> state(task) != TASK_STATE_PLACED, TASKS_RESERVED),
            startTimedOut());
      case JOB_STATE_STARTING:
        return firstOf(
            success(),
            stopRequested(),
            lostData(),
            lostNode(),
            crash(),
            movedData(),
            EndPlan.requested(job),
            all(task -> !BEFORE_RUNNING.contains(state(task)), TASKS_RUNNING),
            startTimedOut());
      case JOB_STATE_RUNNING:
        return firstOf(
            success(),
            stopAtOnce(),
            lostData(),
            lostNode(),
            crash(),
            abandonedEvaluator(),
            end(),
            healthy());
      case JOB_STATE_RESTARTING:
        return whileRestarting();
      case JOB_STATE_ENDING:
        return firstOf(
            eventIf(unproven().isEmpty(), TASKS_TERMINATED, ""),
            TerminationProof.timedOut(job, observation));
      default:
        return Optional.empty();
    }
  }

  /**
   * The next attempt is decided only when the last one is proven terminated, since observations
   * until then count too.
   */
  private Optional<JobEvent> whileRestarting() {
    Optional<JobEvent> now =
        firstOf(stopRequested(), lostData(), causeIsLostNode(), causeIsFailedNode());
    if (now.isPresent() || !unproven().isEmpty()) {
      return firstOf(now, TerminationProof.timedOut(job, observation));
    }
    Optional<JobEvent> moved = causeIsMove();
    if (moved.isPresent() || mayHaveMoved()) {
      return moved;
    }
    Optional<JobEvent> answer =
        firstOf(
            answer(DATA_LOST, CrashBudget::isDataLoss, "data lost"),
            answer(NO_ROWS, CrashBudget::lacksRows, "no rows"));
    if (answer.isPresent()) {
      return answer;
    }
    Optional<JobEvent> end =
        CrashBudget.exhausted(job).map(why -> JobEvent.because(RETRIES_EXHAUSTED, "%s", why));
    if (end.isPresent() || isPausing()) {
      return end;
    }
    if (waitsForGpus()) {
      if (attempt().hasFinishedAt()) {
        observation.restart(attempt().getFinishedAt());
      }
      return Optional.empty();
    }
    return firstOf(
        placement(),
        waitTimedOut(
            attempt().hasFinishedAt() ? attempt().getFinishedAt() : attempt().getEndingAt()));
  }

  /**
   * Whether a placement lacks only GPUs; this wait has no timeout, since other jobs may be long.
   */
  private boolean waitsForGpus() {
    return observation.placement.gpus != null && QuorumRule.holds(job, observation.consistentIds);
  }

  /**
   * The wait timeout is for placements: the queue takes as long as the jobs before this one. What
   * prevents a placement while the job is in the queue counts from its own begin.
   */
  private Optional<JobEvent> whilePending() {
    if (isPlaceable() && observation.isQueued) {
      observation.restart(job.getCreatedAt());
      return Optional.empty();
    }
    Timestamp since = job.hasAdmittedAt() ? job.getAdmittedAt() : job.getCreatedAt();
    if (waitsForGpus()) {
      observation.restart(since);
      return Optional.empty();
    }
    return firstOf(placement(), waitTimedOut(since));
  }

  private boolean isPlaceable() {
    return missingForPlacement().isEmpty() && observation.placement.placement != null;
  }

  private Optional<JobEvent> placement() {
    if (!missingForPlacement().isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        observation.placement.impossible != null
            ? JobEvent.because(PLACEMENT_FAILED, "%s", observation.placement.impossible)
            : JobEvent.placed(observation.placement.placement));
  }

  private Optional<JobEvent> waitTimedOut(Timestamp since) {
    Duration waited = observation.since(since);
    Duration limit = observation.timeouts.assignment;
    return eventIf(
        waited.compareTo(limit) >= 0,
        WAIT_TIMED_OUT,
        "job %s waited %.0f s (wait timeout %.0f s) for %s. See: tensorflow-ignite nodes",
        job.getId(),
        seconds(waited),
        seconds(limit),
        missingForPlacement());
  }

  private Optional<JobEvent> stopRequested() {
    return eventIf(job.getStopRequested(), STOP_REQUESTED, "stopped on request");
  }

  private Optional<JobEvent> stopAtOnce() {
    return job.getSaveRequested() ? Optional.empty() : stopRequested();
  }

  /** The end of an attempt that runs well: its tasks save before, if they can. */
  private Optional<JobEvent> end() {
    if (attempt().getPhase() == ATTEMPT_PHASE_SAVE) {
      return EndPlan.ended(job, observation);
    }
    boolean canSave = EndPlan.isPossible(job, observation);
    return firstOf(stopRequested(), movedData(), EndPlan.requested(job))
        .map(event -> canSave ? JobEvent.planned(event) : event);
  }

  private Optional<JobEvent> lostData() {
    return eventIf(
        job.getLostPartitionsCount() > 0 && !job.getSpec().getRestart().getAllowDataLoss(),
        DATA_LOST,
        "data lost: %d partitions of cache '%s' have lost all their copies (%s). A job continues"
            + " without rows only with restart.allow_data_loss. Load the cache again, with more"
            + " backups, or submit with restart.allow_data_loss=true.",
        job.getLostPartitionsCount(),
        job.getSpec().getCache(),
        MessageText.some(job.getLostPartitionsList()));
  }

  /** A worker that has finished needs its node no more. */
  private Optional<JobEvent> lostNode() {
    return tasks().stream()
        .filter(task -> hasFailed(task) || state(task) != TASK_STATE_SUCCEEDED)
        // The training needs no evaluator.
        .filter(task -> task.getRole() != ROLE_EVALUATOR)
        .filter(task -> !observation.nodes.contains(task.getNodeId()))
        .findFirst()
        .map(
            task ->
                JobEvent.because(
                    NODE_LOST,
                    "node %s with %s has left the cluster",
                    MessageText.shortId(task.getNodeId()),
                    MessageText.name(task)));
  }

  private Optional<JobEvent> causeIsLostNode() {
    return isCounted() ? lostNode() : Optional.empty();
  }

  /** The tasks of a node that fails may end later than others that lose their connections to it. */
  private Optional<JobEvent> causeIsFailedNode() {
    return tasks().stream()
        .filter(
            task -> CrashBudget.isCrash(job) && hasFailed(task) && task.getStatus().getNodeFailed())
        .findFirst()
        .map(task -> JobEvent.ofTask(NODE_FAILED, task, failure(task)));
  }

  /**
   * A task fails when its partitions move: it may not read them meanwhile. A job that ignores moves
   * goes on after them, and what fails later has another cause.
   */
  private Optional<JobEvent> causeIsMove() {
    Attempt attempt = attempt();
    Duration delay =
        observation.since(attempt.getEndingAt()).minus(observation.since(attempt.getMovedAt()));
    Duration quiet = observation.timeouts.quiet;
    return eventIf(
        isCounted()
            && !attempt.getMovedDigest().isEmpty()
            && delay.compareTo(quiet) <= 0
            && (job.getSpec().getRestart().getOnJoin() != ON_JOIN_IGNORE
                || delay.compareTo(quiet.negated()) >= 0),
        DATA_MOVED,
        "the primary partitions of cache '%s' had moved, or were about to",
        job.getSpec().getCache());
  }

  /** Lost data, and rows on too few nodes, are an answer that the next attempt would get, too. */
  private Optional<JobEvent> answer(JobEvent.Type type, Predicate<Task> isAnswer, String what) {
    return tasks().stream()
        .filter(task -> isCounted() && hasFailed(task) && isAnswer.test(task))
        .findFirst()
        .map(task -> JobEvent.ofTask(type, task, what + ": " + failure(task)));
  }

  /** Whether the partition map is still changing soon after a crash, so that a move may follow. */
  private boolean mayHaveMoved() {
    return isCounted()
        && tasks().stream().noneMatch(task -> task.getStatus().getFailedPermanently())
        && observation.placement.waitingFor != null
        && observation.since(attempt().getEndingAt()).compareTo(observation.timeouts.quiet) <= 0;
  }

  private boolean isCounted() {
    CauseKind kind = attempt().getCauseKind();
    return CrashBudget.isCrash(job)
        || kind == CAUSE_KIND_NODE_FAILED
        || kind == CAUSE_KIND_START_TIMEOUT;
  }

  /**
   * When a task fails, the other tasks lose their connections to it. The clocks of their nodes may
   * differ, so the order of the errors is not known: an error that is no lost connection is the
   * cause.
   */
  private Optional<JobEvent> crash() {
    Optional<Task> failed =
        tasks().stream()
            .filter(this::hasFailed)
            // The job continues without an evaluator that fails repeatedly.
            .filter(task -> task.getRole() != ROLE_EVALUATOR || isReplaceable(task))
            .min(
                Comparator.comparing((Task task) -> !task.getStatus().getNodeFailed())
                    .thenComparing(CrashBudget::mayBeOfAnother)
                    .thenComparing(
                        task -> task.getStatus().getFinishedAt(), Timestamps.comparator()));
    if (failed.isPresent()) {
      Task task = failed.get();
      JobEvent.Type ended = task.getStatus().getNodeFailed() ? NODE_FAILED : TASK_CRASHED;
      return Optional.of(
          JobEvent.ofTask(
              isReplaceable(task) ? TASK_REPLACED : ended,
              task,
              failure(task) + finishedBefore(task)));
    }
    return observation.reports(attempt()).stream()
        .filter(report -> !report.getError().isEmpty())
        .findFirst()
        .map(
            report ->
                JobEvent.because(
                    NODE_FAILED,
                    "node %s: %s",
                    MessageText.shortId(report.getNodeId()),
                    report.getError()));
  }

  /** The job continues without an evaluator that cannot be started again; its history says so. */
  private Optional<JobEvent> abandonedEvaluator() {
    return tasks().stream()
        .filter(task -> task.getRole() == ROLE_EVALUATOR && !task.getAbandoned())
        .filter(task -> state(task) == TASK_STATE_LOST || hasFailed(task))
        .findFirst()
        .map(task -> JobEvent.ofTask(TASK_ABANDONED, task, failure(task)));
  }

  private boolean hasFailed(Task task) {
    TaskState state = state(task);
    return state == TASK_STATE_FAILED
        || state == TASK_STATE_STOPPED
        || (kind.isServer(task.getRole()) && state == TASK_STATE_SUCCEEDED);
  }

  private boolean isReplaceable(Task task) {
    return kind.isReplaceable(task.getRole())
        && job.getState() == JOB_STATE_RUNNING
        && !task.getStatus().getAgentLost()
        // The other tasks wait for a stalled task, unless it is an evaluator.
        && (task.getRole() == ROLE_EVALUATOR || !task.getStatus().getStalled())
        && tasks().stream()
            .noneMatch(other -> !kind.isReplaceable(other.getRole()) && hasFailed(other))
        && CrashBudget.allowsReplacement(job, task);
  }

  private static String failure(Task task) {
    String error = task.getStatus().getError();
    if (state(task) == TASK_STATE_LOST) {
      return "node " + MessageText.shortId(task.getNodeId()) + " has left the cluster";
    }
    return String.format(
        "%s on node %s failed: %s",
        MessageText.name(task),
        MessageText.shortId(task.getNodeId()),
        error.isEmpty() ? "exited with code " + task.getStatus().getExitCode() : error);
  }

  /** The finished workers that a task may have waited for: it stalled, or lost its connections. */
  private String finishedBefore(Task failed) {
    String finished =
        tasks().stream()
            .filter(task -> state(task) == TASK_STATE_SUCCEEDED)
            .map(MessageText::name)
            .collect(Collectors.joining(", "));
    boolean waited = failed.getStatus().getStalled() || CrashBudget.isOfAPeer(failed);
    return !waited || finished.isEmpty()
        ? ""
        : "; it may have waited for " + finished + ", which had ended with exit code 0";
  }

  private Optional<JobEvent> success() {
    boolean trained =
        tasks().stream()
            .filter(task -> kind.runsScript(task.getRole()))
            .allMatch(task -> state(task) == TASK_STATE_SUCCEEDED);
    // The evaluator evaluates the last checkpoint, and ends then. No node waits for that, and a
    // training that is done is not repeated for it.
    boolean evaluated =
        tasks().stream()
            .filter(task -> task.getRole() == ROLE_EVALUATOR)
            .allMatch(
                task ->
                    state(task) == TASK_STATE_SUCCEEDED
                        || hasFailed(task)
                        || !task.getStatus().getEndRequested().isEmpty()
                        || !observation.nodes.contains(task.getNodeId()));
    return eventIf(trained && evaluated, TASKS_SUCCEEDED, "");
  }

  private Optional<JobEvent> startTimedOut() {
    Duration since = observation.since(attempt().getStartedAt());
    Duration limit = CrashBudget.startTimeout(job, observation.timeouts.start);
    return eventIf(
        since.compareTo(limit) >= 0,
        START_TIMED_OUT,
        "not every task ran %.0f s after attempt %d began (start timeout %.0f s); missing: %s",
        seconds(since),
        attempt().getNumber(),
        seconds(limit),
        unstarted());
  }

  /**
   * After a worker has finished, no further attempt follows the data: this worker would train
   * again, and the other workers, which can read moved partitions from their new owners, would lose
   * their steps. A job also keeps its attempt until the GPUs of the next attempt are free.
   */
  private Optional<JobEvent> movedData() {
    Attempt attempt = attempt();
    OnJoin onJoin = job.getSpec().getRestart().getOnJoin();
    Duration quiet = observation.since(attempt.getMovedAt());
    Duration limit = observation.timeouts.quiet;
    boolean saved =
        ReportMerge.checkpointStep(attempt.getTasksList()) > attempt.getMovedCheckpointStep();
    return eventIf(
        !attempt.getMovedDigest().isEmpty()
            && onJoin != ON_JOIN_IGNORE
            && hasGpusForNext()
            && tasks().stream().allMatch(task -> state(task) != TASK_STATE_SUCCEEDED)
            && quiet.compareTo(limit) >= 0
            && (onJoin != ON_JOIN_AT_CHECKPOINT || saved),
        DATA_MOVED,
        "the primary partitions of cache '%s' moved %.1f s ago (quiet time %.1f s)",
        job.getSpec().getCache(),
        seconds(quiet),
        seconds(limit));
  }

  private boolean hasGpusForNext() {
    return job.getSpec().getWorkers().getGpus() == 0
        || (observation.placement.placement != null && observation.placement.gpus == null);
  }

  private Optional<JobEvent> healthy() {
    Duration since = observation.since(attempt().getRunningAt());
    return eventIf(
        job.getCrashes() + job.getNodeFailures() + job.getIdleRestarts() > 0
            && since.compareTo(observation.timeouts.healthy) >= 0,
        HEALTHY,
        "crashes (%d), failures of nodes (%d) and restarts without a further step (%d) are no"
            + " longer counted after %.0f s without one",
        job.getCrashes(),
        job.getNodeFailures(),
        job.getIdleRestarts(),
        seconds(since));
  }

  private Optional<JobEvent> all(Predicate<Task> holds, JobEvent.Type type) {
    return eventIf(tasks().stream().allMatch(holds), type, "");
  }

  private static Optional<JobEvent> eventIf(
      boolean holds, JobEvent.Type type, String format, Object... values) {
    return holds ? Optional.of(JobEvent.because(type, format, values)) : Optional.empty();
  }

  /** The nodes on which tasks of the attempt may still run. */
  private Set<String> unproven() {
    return TerminationProof.unprovenNodes(job, observation);
  }

  private boolean isPausing() {
    return job.hasNotBefore()
        && observation.since(attempt().getEndingAt()).compareTo(CrashBudget.backOff(job)) < 0;
  }

  private String waitingFor() {
    switch (job.getState()) {
      case JOB_STATE_PENDING:
        return isPlaceable() ? "a place in the queue" : missingForPlacement();
      case JOB_STATE_RESERVING:
      case JOB_STATE_STARTING:
        return unstarted();
      case JOB_STATE_RESTARTING:
        if (!unproven().isEmpty()) {
          return TerminationProof.waitingFor(job, observation);
        }
        return isPausing()
            ? "the pause after " + CrashBudget.count(job) + " to end"
            : missingForPlacement();
      case JOB_STATE_ENDING:
        return TerminationProof.waitingFor(job, observation);
      case JOB_STATE_RUNNING:
        return EndPlan.waitingFor(job);
      default:
        return "";
    }
  }

  private String missingForPlacement() {
    if (!QuorumRule.holds(job, observation.consistentIds)) {
      return QuorumRule.waitingFor(job, observation);
    }
    PlacementResult placement = observation.placement;
    return placement.gpus != null
        ? placement.gpus
        : placement.waitingFor == null ? "" : placement.waitingFor;
  }

  private String unstarted() {
    return tasks().stream()
        .filter(task -> BEFORE_RUNNING.contains(state(task)))
        .map(task -> MessageText.name(task) + " on node " + MessageText.shortId(task.getNodeId()))
        .collect(Collectors.joining(", "));
  }

  private Attempt attempt() {
    return JobMachine.attempt(job);
  }

  private List<Task> tasks() {
    return attempt().getTasksList();
  }

  private static TaskState state(Task task) {
    return task.getStatus().getState();
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }

  @SafeVarargs
  @SuppressWarnings("varargs")
  private static Optional<JobEvent> firstOf(Optional<JobEvent>... events) {
    return Arrays.stream(events).flatMap(Optional::stream).findFirst();
  }
}
