package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobEvent.Type.DATA_MOVED;
import static io.tensorflowignite.job.decide.JobEvent.Type.END_REQUESTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_SAVE;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.EndProgress;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobOrBuilder;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.Task;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The planned end of an attempt: the tasks that run the script agree on a step, save after it, and
 * wait for their end. The first worker proposes a step. The other tasks accept it, or propose a
 * later step. A task that has proposed a step does no later step before all tasks agree.
 */
final class EndPlan {
  private EndPlan() {}

  /** Whether the tasks save if an end is planned. */
  static boolean isPossible(Job job, Observation observation) {
    return !observation.timeouts.grace.isZero()
        && scriptTasks(job, JobMachine.attempt(job)).stream()
            .allMatch(
                task -> task.getStatus().getState() == TASK_STATE_RUNNING && end(task).getReady());
  }

  /**
   * Why a task, or its node, requests a planned end of the attempt; the job continues with the next
   * attempt. A finished task makes no request.
   */
  static Optional<JobEvent> requested(Job job) {
    return JobMachine.attempt(job).getTasksList().stream()
        .filter(task -> task.getStatus().getState() != TASK_STATE_SUCCEEDED)
        .flatMap(task -> request(task).stream())
        .findFirst();
  }

  private static Optional<JobEvent> request(Task task) {
    String node = MessageText.shortId(task.getNodeId());
    if (!task.getStatus().getEndRequested().isEmpty()) {
      String why = task.getStatus().getEndRequested();
      return Optional.of(
          JobEvent.because(END_REQUESTED, "node %s with %s %s", node, MessageText.name(task), why));
    }
    return end(task).getTerminated()
        ? Optional.of(
            JobEvent.because(
                END_REQUESTED,
                "%s on node %s was sent SIGTERM from outside the job",
                MessageText.name(task),
                node))
        : Optional.empty();
  }

  /** The event that ends an attempt whose tasks have saved, or have not within the stop grace. */
  static Optional<JobEvent> ended(Job job, Observation observation) {
    Attempt attempt = JobMachine.attempt(job);
    PlannedEnd plan = attempt.getPlannedEnd();
    boolean saved = scriptTasks(job, attempt).stream().allMatch(task -> end(task).getSaved());
    Duration grace = observation.timeouts.grace;
    if (!saved && observation.since(plan.getRequestedAt()).compareTo(grace) < 0) {
      return Optional.empty();
    }
    JobEvent.Type moved = plan.getCauseKind() == CAUSE_KIND_DATA_MOVED ? DATA_MOVED : END_REQUESTED;
    return Optional.of(
        JobEvent.because(
            job.getStopRequested() ? STOP_REQUESTED : moved,
            saved ? "%s" : "%s; its tasks did not save together within the stop grace (%.1f s)",
            job.getStopRequested() ? "stopped on request" : plan.getCause(),
            grace.toMillis() / 1000.0));
  }

  static String waitingFor(Job job) {
    Attempt attempt = JobMachine.attempt(job);
    return attempt.getPhase() == ATTEMPT_PHASE_SAVE ? "its tasks to save after a common step" : "";
  }

  /** Writes the latest proposal into the row, and whether all tasks agree to it. */
  static void merge(JobOrBuilder job, Attempt.Builder attempt) {
    PlannedEnd.Builder plan = attempt.getPlannedEndBuilder();
    if (attempt.getPhase() != ATTEMPT_PHASE_SAVE || plan.getAgreed()) {
      return;
    }
    List<Long> proposals =
        scriptTasks(job, attempt.build()).stream()
            .map(task -> end(task).getStep())
            .collect(Collectors.toList());
    long latest = proposals.stream().mapToLong(Long::longValue).max().orElse(0);
    plan.setStep(Math.max(plan.getStep(), latest));
    plan.setAgreed(latest > 0 && proposals.stream().allMatch(step -> step == plan.getStep()));
  }

  /** The last step of an attempt, and the step from which the next one resumes, for people. */
  static String steps(Attempt attempt) {
    long saved =
        Math.max(ReportMerge.checkpointStep(attempt.getTasksList()), attempt.getResumedFromStep());
    return String.format(
        "attempt %d ended at step %d, %s",
        attempt.getNumber(),
        Math.max(attempt.getLastStep(), saved),
        saved == 0 ? "and no checkpoint was saved" : "saved at step " + saved);
  }

  private static List<Task> scriptTasks(JobOrBuilder job, Attempt attempt) {
    KindRules kind = KindRules.of(job.getSpec());
    return attempt.getTasksList().stream()
        .filter(task -> kind.runsScript(task.getRole()))
        .collect(Collectors.toList());
  }

  private static EndProgress end(Task task) {
    return task.getStatus().getProgress().getEnd();
  }
}
