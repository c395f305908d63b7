package io.tensorflowignite.security;

import com.google.protobuf.ByteString;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import java.security.MessageDigest;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/**
 * Judges the tokens of tasks by the row of their job, read for each call: as soon as the task has
 * ended, or another process takes its place, its token is worth nothing on any node.
 */
public final class TaskTokens {
  private static final Set<TaskState> ENDED =
      EnumSet.of(
          TaskState.TASK_SUCCEEDED,
          TaskState.TASK_FAILED,
          TaskState.TASK_STOPPED,
          TaskState.TASK_LOST);

  /** What has been reported of an attempt and may not stand in the job's row yet. */
  interface Reports {
    Optional<NodeReport> of(String jobId, int attempt, String nodeId);
  }

  private final JobTable jobs;
  private final ReportTable reports;

  public TaskTokens(JobTable jobs, ReportTable reports) {
    this.jobs = jobs;
    this.reports = reports;
  }

  /** What the token opens; empty when it is not of a task that may run now. */
  Optional<TaskScope> judge(TaskToken token) {
    return jobs.get(token.task().getJobId()).flatMap(job -> judge(token, job, reports::get));
  }

  static Optional<TaskScope> judge(TaskToken token, Job job, Reports reports) {
    if (job.hasFinishedAt() || job.getAttemptsCount() == 0) {
      return Optional.empty();
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    if (newest.getNumber() != token.task().getAttempt()) {
      return Optional.empty();
    }
    // A task that is asked to end may still save what it has.
    return newest.getTasksList().stream()
        .filter(task -> isSame(task, token.task()) && !ENDED.contains(task.getStatus().getState()))
        .filter(task -> matches(token, digest(task, job, newest, reports)))
        .findFirst()
        .map(task -> TaskScope.of(token.task(), job));
  }

  /** A task that replaces another one runs before its node's report has come into the row. */
  private static ByteString digest(Task task, Job job, Attempt attempt, Reports reports) {
    ByteString folded = task.getStatus().getTokenDigest();
    if (!folded.isEmpty()) {
      return folded;
    }
    return reports
        .of(job.getId(), attempt.getNumber(), task.getNodeId())
        .flatMap(
            report -> report.getTasksList().stream().filter(told -> isSame(told, task)).findFirst())
        .map(told -> told.getStatus().getTokenDigest())
        .orElse(ByteString.EMPTY);
  }

  private static boolean matches(TaskToken token, ByteString digest) {
    return MessageDigest.isEqual(token.digest().toByteArray(), digest.toByteArray());
  }

  private static boolean isSame(Task task, TaskKey key) {
    return task.getRole() == key.getRole()
        && task.getIndex() == key.getIndex()
        && task.getIncarnation() == key.getIncarnation();
  }

  private static boolean isSame(Task one, Task other) {
    return one.getRole() == other.getRole()
        && one.getIndex() == other.getIndex()
        && one.getIncarnation() == other.getIncarnation();
  }
}
