package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Compares a job's row with what is seen of the cluster: brings what nodes reported into the row,
 * and says which event, if any, the difference amounts to. Level-triggered: nothing depends on how
 * often, or after which message, it is asked.
 */
final class JobObserver {
  private static final Set<TaskState> BEFORE_RUNNING =
      EnumSet.of(TaskState.TASK_PLACED, TaskState.TASK_RESERVED);

  private JobObserver() {}

  /**
   * The row after everything that the observation implies: reports folded in, then events applied
   * until none is left.
   *
   * @param told hears of each transition.
   */
  static Job step(Job job, Observation seen, Consumer<JobMachine.Transition> told) {
    Job current = fold(job, seen);
    Optional<JobEvent> event = next(current, seen);
    while (event.isPresent()) {
      told.accept(JobMachine.transition(current, event.get()));
      current = JobMachine.apply(current, event.get(), seen.now);
      event = next(current, seen);
    }
    return current.toBuilder().setWaitingFor(waitingFor(current, seen)).build();
  }

  /** The row with the tasks' latest status. */
  static Job fold(Job job, Observation seen) {
    if (job.getAttemptsCount() == 0 || JobMachine.isOver(job)) {
      return job;
    }
    Job.Builder folded = job.toBuilder();
    Attempt.Builder attempt = folded.getAttemptsBuilder(folded.getAttemptsCount() - 1);
    for (Task.Builder task : attempt.getTasksBuilderList()) {
      NodeReport report = seen.reports.get(task.getNodeId());
      if (report != null) {
        report.getTasksList().stream()
            .filter(reported -> same(reported, task))
            .findFirst()
            .ifPresent(reported -> task.setStatus(reported.getStatus()));
      }
      if (!seen.nodes.contains(task.getNodeId()) && !hasEnded(task.getStatus().getState())) {
        task.getStatusBuilder().setState(TaskState.TASK_LOST);
      }
    }
    return folded.build();
  }

  static Optional<JobEvent> next(Job job, Observation seen) {
    switch (job.getState()) {
      case PENDING:
        return whilePending(job, seen);
      case RESERVING:
        return firstOf(
            stopRequested(job),
            lostNode(job),
            failure(job, seen),
            startedLate(job, seen),
            all(job, task -> state(task) != TaskState.TASK_PLACED, JobEvent.Type.TASKS_RESERVED));
      case STARTING:
        return firstOf(
            success(job),
            stopRequested(job),
            lostNode(job),
            failure(job, seen),
            all(job, task -> !BEFORE_RUNNING.contains(state(task)), JobEvent.Type.TASKS_RUNNING),
            startedLate(job, seen));
      case RUNNING:
        return firstOf(success(job), stopRequested(job), lostNode(job), failure(job, seen));
      case ENDING:
        return gone(job, seen);
      default:
        return Optional.empty();
    }
  }

  private static Optional<JobEvent> whilePending(Job job, Observation seen) {
    if (job.getStopRequested()) {
      return stopRequested(job);
    }
    if (seen.placement == null || seen.placement.waitingFor != null) {
      return Optional.empty();
    }
    if (seen.placement.impossible != null) {
      return Optional.of(
          JobEvent.because(JobEvent.Type.PLACEMENT_FAILED, seen.placement.impossible));
    }
    return Optional.of(JobEvent.placed(seen.placement.placement));
  }

  private static Optional<JobEvent> stopRequested(Job job) {
    return job.getStopRequested()
        ? Optional.of(JobEvent.because(JobEvent.Type.STOP_REQUESTED, "stopped on request"))
        : Optional.empty();
  }

  private static Optional<JobEvent> lostNode(Job job) {
    return tasks(job).stream()
        .filter(task -> state(task) == TaskState.TASK_LOST)
        .findFirst()
        .map(
            task ->
                JobEvent.because(
                    JobEvent.Type.NODE_LOST,
                    String.format(
                        "%s was lost with its node %s, which has left the cluster. "
                            + "A job ends when a node that runs its tasks leaves. Submit it again.",
                        name(task), shortId(task.getNodeId()))));
  }

  private static Optional<JobEvent> failure(Job job, Observation seen) {
    Optional<Task> failed =
        tasks(job).stream()
            .filter(task -> hasFailed(job, task))
            .min(
                Comparator.comparing(
                    task -> task.getStatus().getFinishedAt(), Timestamps.comparator()));
    if (failed.isPresent()) {
      return Optional.of(JobEvent.failed(failed.get(), failureText(job, failed.get())));
    }
    return seen.reports.values().stream()
        .filter(report -> !report.getError().isEmpty())
        .findFirst()
        .map(
            report ->
                JobEvent.because(
                    JobEvent.Type.TASK_FAILED,
                    "node " + shortId(report.getNodeId()) + ": " + report.getError()));
  }

  /**
   * A server ends only when it is told to: its end before the client process's is a failure,
   * whatever its exit code.
   */
  private static boolean hasFailed(Job job, Task task) {
    TaskState state = state(task);
    boolean server =
        job.getSpec().getKind() == JobKind.PARAMETER_SERVER && task.getRole() != Role.CLIENT;
    return state == TaskState.TASK_FAILED
        || state == TaskState.TASK_STOPPED
        || (server && state == TaskState.TASK_SUCCEEDED);
  }

  private static String failureText(Job job, Task task) {
    return String.format(
        "%s on node %s failed: %s. A job fails with the first of its tasks. See: tensorflow-ignite"
            + " logs %s --task %s:%d",
        name(task),
        shortId(task.getNodeId()),
        task.getStatus().getError().isEmpty()
            ? "exited with code " + task.getStatus().getExitCode()
            : task.getStatus().getError(),
        job.getId(),
        Texts.role(task.getRole()),
        task.getIndex());
  }

  private static Optional<JobEvent> success(Job job) {
    Role counts = job.getSpec().getKind() == JobKind.PARAMETER_SERVER ? Role.CLIENT : Role.WORKER;
    boolean done =
        tasks(job).stream()
            .filter(task -> task.getRole() == counts)
            .allMatch(task -> state(task) == TaskState.TASK_SUCCEEDED);
    return done ? Optional.of(JobEvent.of(JobEvent.Type.TASKS_SUCCEEDED)) : Optional.empty();
  }

  private static Optional<JobEvent> startedLate(Job job, Observation seen) {
    Duration since = between(JobMachine.attempt(job).getStartedAt(), seen.now);
    if (since.compareTo(seen.startTimeout) < 0) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.because(
            JobEvent.Type.START_TIMED_OUT,
            String.format(
                "not every task ran %.0f s after the attempt began (start timeout %.0f s); missing:"
                    + " %s. Look at the nodes' logs, or submit with a larger --start-timeout.",
                seconds(since), seconds(seen.startTimeout), unstarted(job))));
  }

  private static Optional<JobEvent> all(Job job, Predicate<Task> holds, JobEvent.Type type) {
    return tasks(job).stream().allMatch(holds) ? Optional.of(JobEvent.of(type)) : Optional.empty();
  }

  /** Gone means: the agent proved it, or its node has left and its lease has run out. */
  private static Optional<JobEvent> gone(Job job, Observation seen) {
    return notGone(job, seen).isEmpty()
        ? Optional.of(JobEvent.of(JobEvent.Type.TASKS_GONE))
        : Optional.empty();
  }

  private static Set<String> notGone(Job job, Observation seen) {
    Duration since = between(JobMachine.attempt(job).getEndingAt(), seen.now);
    return tasks(job).stream()
        .map(Task::getNodeId)
        .filter(
            node -> {
              NodeReport report = seen.reports.get(node);
              boolean proven = report != null && report.getReached() == AttemptPhase.STOP;
              boolean expired =
                  !seen.nodes.contains(node) && since.compareTo(seen.leaseTimeout) >= 0;
              return !proven && !expired;
            })
        .collect(Collectors.toSet());
  }

  private static String waitingFor(Job job, Observation seen) {
    switch (job.getState()) {
      case PENDING:
        return seen.placement == null || seen.placement.waitingFor == null
            ? ""
            : seen.placement.waitingFor;
      case RESERVING:
      case STARTING:
        return unstarted(job);
      case ENDING:
        return notGone(job, seen).stream()
            .map(node -> "node " + shortId(node))
            .sorted()
            .collect(Collectors.joining(", ", "proof that its tasks are gone: ", ""));
      default:
        return "";
    }
  }

  private static String unstarted(Job job) {
    return tasks(job).stream()
        .filter(task -> BEFORE_RUNNING.contains(state(task)))
        .map(task -> name(task) + " on node " + shortId(task.getNodeId()))
        .collect(Collectors.joining(", "));
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

  private static boolean hasEnded(TaskState state) {
    switch (state) {
      case TASK_SUCCEEDED:
      case TASK_FAILED:
      case TASK_STOPPED:
      case TASK_LOST:
        return true;
      default:
        return false;
    }
  }

  private static boolean same(Task reported, Task.Builder task) {
    return reported.getRole() == task.getRole()
        && reported.getIndex() == task.getIndex()
        && reported.getIncarnation() == task.getIncarnation();
  }

  private static List<Task> tasks(Job job) {
    return new ArrayList<>(JobMachine.attempt(job).getTasksList());
  }

  private static TaskState state(Task task) {
    return task.getStatus().getState();
  }

  private static String name(Task task) {
    return Texts.role(task.getRole()) + " " + task.getIndex();
  }

  private static String shortId(String id) {
    return Texts.shortId(id);
  }

  private static Duration between(Timestamp from, Timestamp to) {
    return Duration.ofMillis(Durations.toMillis(Timestamps.between(from, to)));
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }
}
