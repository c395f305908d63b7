package io.tensorflowignite.security;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;

import com.google.protobuf.ByteString;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.table.JobTable;
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
 * Verifies the tokens of tasks by the row of their job, which is read for each call: when the task
 * has ended or was replaced, its token is invalid on all nodes.
 */
public final class TaskTokens {
  /**
   * A task whose node is lost may run until the end of its lease, and after that the node's agent
   * proves with the token that it has ended.
   */
  private static final Set<TaskState> ENDED =
      EnumSet.of(TASK_STATE_SUCCEEDED, TASK_STATE_FAILED, TASK_STATE_STOPPED);

  private final JobTable jobs;

  public TaskTokens(JobTable jobs) {
    this.jobs = jobs;
  }

  /** The scope of the token; empty unless the token belongs to a task that may run now. */
  Optional<TaskScope> verify(TaskToken token) {
    return jobs.row(token.task.getJobId()).flatMap(job -> verify(token, job));
  }

  /** The id of the job whose task has the token, before it is verified; empty: it is malformed. */
  public static String jobOf(String text) {
    return TaskToken.parse(text).map(token -> token.task.getJobId()).orElse("");
  }

  /**
   * The node's report that an attempt has terminated, as the token of a task on the node proves it;
   * empty: the token is of no task of the newest attempt of a job that is not over.
   */
  public Optional<NodeReport> proofOfEnd(String text) {
    return TaskToken.parse(text)
        .flatMap(token -> jobs.row(token.task.getJobId()).flatMap(job -> proofOfEnd(token, job)));
  }

  static Optional<NodeReport> proofOfEnd(TaskToken token, Job job) {
    return newestTask(token, job)
        .map(
            task ->
                NodeReport.newBuilder()
                    .setJobId(job.getId())
                    .setAttempt(token.task.getAttempt())
                    .setNodeId(task.getNodeId())
                    .setReached(ATTEMPT_PHASE_STOP)
                    .build());
  }

  static Optional<TaskScope> verify(TaskToken token, Job job) {
    // A task that was requested to stop may still save its state.
    return newestTask(token, job)
        .filter(task -> !ENDED.contains(task.getStatus().getState()))
        .map(task -> TaskScope.of(token.task, job));
  }

  private static Optional<Task> newestTask(TaskToken token, Job job) {
    if (job.hasFinishedAt() || job.getAttemptsCount() == 0) {
      return Optional.empty();
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    if (newest.getNumber() != token.task.getAttempt()) {
      return Optional.empty();
    }
    return newest.getTasksList().stream()
        .filter(task -> isSame(task, token.task))
        .filter(task -> matches(token, task.getStatus().getTokenDigest()))
        .findFirst();
  }

  private static boolean matches(TaskToken token, ByteString digest) {
    return MessageDigest.isEqual(token.digest().toByteArray(), digest.toByteArray());
  }

  private static boolean isSame(Task task, TaskKey key) {
    return task.getRole() == key.getRole()
        && task.getIndex() == key.getIndex()
        && task.getIncarnation() == key.getIncarnation();
  }
}
