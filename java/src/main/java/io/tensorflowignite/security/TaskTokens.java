package io.tensorflowignite.security;

import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;

import com.google.protobuf.ByteString;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
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
  private static final Set<TaskState> ENDED =
      EnumSet.of(TASK_STATE_SUCCEEDED, TASK_STATE_FAILED, TASK_STATE_STOPPED, TASK_STATE_LOST);

  private final JobTable jobs;

  public TaskTokens(JobTable jobs) {
    this.jobs = jobs;
  }

  /** The scope of the token; empty unless the token belongs to a task that may run now. */
  Optional<TaskScope> verify(TaskToken token) {
    return jobs.row(token.task().getJobId()).flatMap(job -> verify(token, job));
  }

  static Optional<TaskScope> verify(TaskToken token, Job job) {
    if (job.hasFinishedAt() || job.getAttemptsCount() == 0) {
      return Optional.empty();
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    if (newest.getNumber() != token.task().getAttempt()) {
      return Optional.empty();
    }
    // A task that was requested to stop may still save its state.
    return newest.getTasksList().stream()
        .filter(task -> isSame(task, token.task()) && !ENDED.contains(task.getStatus().getState()))
        .filter(task -> matches(token, task.getStatus().getTokenDigest()))
        .findFirst()
        .map(task -> TaskScope.of(token.task(), job));
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
