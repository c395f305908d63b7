package io.tensorflowignite.job;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;

/** Brings what is seen into a job's row, where nothing has to be decided for it. */
final class Folding {
  private Folding() {}

  static Job fold(Job job, Observation seen) {
    if (job.getAttemptsCount() == 0 || JobMachine.isOver(job)) {
      return job;
    }
    Job.Builder folded = job.toBuilder();
    Attempt.Builder attempt = folded.getAttemptsBuilder(folded.getAttemptsCount() - 1);
    for (Task.Builder task : attempt.getTasksBuilderList()) {
      foldStatus(task, seen.report(task.getNodeId(), attempt.build()), seen);
    }
    foldProgress(attempt);
    foldMove(attempt, seen);
    return folded.build();
  }

  /** The step of the newest checkpoint that a task of the attempt has told of. */
  static long checkpointStep(Attempt attempt) {
    return attempt.getTasksList().stream()
        .mapToLong(task -> task.getStatus().getProgress().getCheckpointStep())
        .max()
        .orElse(0);
  }

  private static void foldStatus(Task.Builder task, NodeReport report, Observation seen) {
    if (report != null) {
      report.getTasksList().stream()
          .filter(reported -> isSame(reported, task))
          .findFirst()
          .ifPresent(reported -> task.setStatus(reported.getStatus()));
    }
    boolean ended = task.getStatus().getState().getNumber() > TaskState.TASK_RUNNING_VALUE;
    if (!seen.nodes.contains(task.getNodeId()) && !ended) {
      task.setStatus(task.getStatus().toBuilder().setState(TaskState.TASK_LOST));
    }
  }

  private static boolean isSame(Task reported, Task.Builder task) {
    return reported.getRole() == task.getRole()
        && reported.getIndex() == task.getIndex()
        && reported.getIncarnation() == task.getIncarnation();
  }

  private static void foldProgress(Attempt.Builder attempt) {
    for (Task task : attempt.getTasksList()) {
      TaskStatus status = task.getStatus();
      Progress progress = status.getProgress();
      attempt.setLastStep(Math.max(attempt.getLastStep(), progress.getStep()));
      attempt.setResumedFromStep(
          Math.max(attempt.getResumedFromStep(), progress.getResumedFromStep()));
    }
  }

  /** Notes since when the primaries are elsewhere, and where; forgets it when they are back. */
  private static void foldMove(Attempt.Builder attempt, Observation seen) {
    if (seen.placement == null || seen.placement.placement == null) {
      return;
    }
    String digest = seen.placement.placement.digest();
    if (digest.equals(attempt.getAssignmentDigest())) {
      attempt.clearMovedDigest().clearMovedAt().clearMovedCheckpointStep();
    } else if (!digest.equals(attempt.getMovedDigest())) {
      attempt
          .setMovedDigest(digest)
          .setMovedAt(seen.now)
          .setMovedCheckpointStep(checkpointStep(attempt.build()));
    }
  }
}
