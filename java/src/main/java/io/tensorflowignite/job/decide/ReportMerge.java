package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Writes an observation into a job's row as far as this needs no decision. */
final class ReportMerge {
  private ReportMerge() {}

  static Job merge(Job job, Observation observation) {
    if (JobMachine.isFinal(job)) {
      return job;
    }
    Job.Builder merged = job.toBuilder();
    mergeLosses(merged, observation);
    if (job.getAttemptsCount() == 0) {
      return merged.build();
    }
    Attempt.Builder attempt = merged.getAttemptsBuilder(merged.getAttemptsCount() - 1);
    for (Task.Builder task : attempt.getTasksBuilderList()) {
      mergeStatus(task, observation.report(task.getNodeId(), attempt), observation);
    }
    mergeProgress(attempt);
    EndPlan.merge(job, attempt);
    mergeMove(attempt, observation);
    return merged.build();
  }

  /** The step of the newest checkpoint that one of the tasks has reported. */
  static long checkpointStep(List<Task> tasks) {
    return tasks.stream()
        .mapToLong(task -> task.getStatus().getProgress().getCheckpointStep())
        .max()
        .orElse(0);
  }

  /** The loss of a job's rows stays its cause, also if the loss is accepted while the job ends. */
  private static void mergeLosses(Job.Builder job, Observation observation) {
    Set<Integer> lost = new TreeSet<>(job.getLostPartitionsList());
    if (lost.addAll(observation.lostPartitions)) {
      job.clearLostPartitions().addAllLostPartitions(lost);
    }
  }

  private static void mergeStatus(Task.Builder task, NodeReport report, Observation observation) {
    if (report != null) {
      report.getTasksList().stream()
          .filter(reported -> isSame(reported, task))
          .findFirst()
          .ifPresent(reported -> task.setStatus(reported.getStatus()));
    }
    boolean ended = task.getStatus().getStateValue() > TaskState.TASK_STATE_RUNNING_VALUE;
    if (!observation.nodes.contains(task.getNodeId()) && !ended) {
      task.setStatus(task.getStatus().toBuilder().setState(TASK_STATE_LOST));
    }
  }

  private static boolean isSame(Task reported, Task.Builder task) {
    return reported.getRole() == task.getRole()
        && reported.getIndex() == task.getIndex()
        && reported.getIncarnation() == task.getIncarnation();
  }

  private static void mergeProgress(Attempt.Builder attempt) {
    for (Task task : attempt.getTasksList()) {
      TaskStatus status = task.getStatus();
      Progress progress = status.getProgress();
      attempt.setLastStep(Math.max(attempt.getLastStep(), progress.getStep()));
      attempt.setResumedFromStep(
          Math.max(attempt.getResumedFromStep(), progress.getResumedFromStep()));
    }
  }

  /** Records when primaries moved, and their new assignment; clears both when they are back. */
  private static void mergeMove(Attempt.Builder attempt, Observation observation) {
    if (observation.placement == null || observation.placement.placement == null) {
      return;
    }
    String digest = observation.placement.placement.digest;
    if (digest.equals(attempt.getAssignmentDigest())) {
      attempt.clearMovedDigest().clearMovedAt().clearMovedCheckpointStep();
    } else if (!digest.equals(attempt.getMovedDigest())) {
      attempt
          .setMovedDigest(digest)
          .setMovedAt(observation.now)
          .setMovedCheckpointStep(checkpointStep(attempt.getTasksList()));
    }
  }
}
