package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;

/**
 * The part of a job and of a report on which decisions depend. The rest, which is progress, informs
 * callers: it need not be stored, nor be sent at once.
 */
public final class DecidingPart {
  private DecidingPart() {}

  /** The job with the deciding part of its newest attempt. */
  static Job of(Job job) {
    if (job.getAttemptsCount() == 0) {
      return job;
    }
    Job.Builder part = job.toBuilder();
    Attempt.Builder newest = part.getAttemptsBuilder(job.getAttemptsCount() - 1);
    newest.getTasksBuilderList().forEach(DecidingPart::reduce);
    newest.clearLastStep().clearResumedFromStep();
    return part.build();
  }

  /** The report with the deciding part of its tasks. */
  static NodeReport of(NodeReport report) {
    NodeReport.Builder part = report.toBuilder().clearRevision();
    part.getTasksBuilderList().forEach(DecidingPart::reduce);
    return part.build();
  }

  /** Whether the change of a job's row must be stored before anything else happens. */
  static boolean isUrgent(Job row, Job observed) {
    if (!row.getServiceNodeId().equals(observed.getServiceNodeId())) {
      return true;
    }
    if (row.getAttemptsCount() == 0 || observed.getAttemptsCount() == 0) {
      return row.getAttemptsCount() != observed.getAttemptsCount();
    }
    Attempt before = JobMachine.attempt(row);
    Attempt after = JobMachine.attempt(observed);
    return !before.getPlannedEnd().equals(after.getPlannedEnd())
        || !before.getMovedDigest().equals(after.getMovedDigest())
        || hasReplacement(before, after);
  }

  /** A node starts a task that replaces another one when the row has the digest of its token. */
  private static boolean hasReplacement(Attempt before, Attempt after) {
    if (before.getPhase() == ATTEMPT_PHASE_RESERVE
        || before.getTasksCount() != after.getTasksCount()) {
      return false;
    }
    for (int i = 0; i < before.getTasksCount(); i++) {
      if (before.getTasks(i).getStatus().getTokenDigest().isEmpty()
          && !after.getTasks(i).getStatus().getTokenDigest().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private static void reduce(Task.Builder task) {
    task.setStatus(of(task.getStatus()));
  }

  /** The deciding part of a task's status. */
  public static TaskStatus of(TaskStatus status) {
    TaskStatus.Builder part =
        status.toBuilder().clearLogDroppedBytes().clearMemoryBytes().clearDeviceMemoryBytes();
    if (status.hasProgress()) {
      Progress progress = status.getProgress();
      // Whether a step was done, and not which.
      part.setProgress(
          Progress.newBuilder()
              .setEnd(progress.getEnd())
              .setStep(CrashBudget.hasDoneAStep(progress) ? 1 : 0));
    }
    return part.build();
  }
}
