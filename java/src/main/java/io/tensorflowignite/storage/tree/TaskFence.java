package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import org.apache.ignite.Ignite;

/**
 * Allows only the current tasks of a job to change files. The transaction of the change reads the
 * job's row, so it fails when the row changes before the commit.
 */
public final class TaskFence {
  private final JobTable jobs;

  public TaskFence(Ignite ignite) {
    this.jobs = new JobTable(ignite);
  }

  /** In a change; throws ATTEMPT_SUPERSEDED unless the task is current. */
  void require(TaskKey task) {
    Job job = jobs.get(task.getJobId()).orElseThrow(() -> superseded(task, "there is no such job"));
    if (job.getAttemptsCount() == 0) {
      throw superseded(task, "the job has no attempt yet");
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    if (newest.getNumber() != task.getAttempt()) {
      throw superseded(task, "the job is at attempt " + newest.getNumber());
    }
    for (Task known : newest.getTasksList()) {
      if (known.getRole() == task.getRole() && known.getIndex() == task.getIndex()) {
        if (known.getIncarnation() != task.getIncarnation()) {
          throw superseded(task, "the task is at incarnation " + known.getIncarnation());
        }
        return;
      }
    }
    throw superseded(task, "the attempt has no such task");
  }

  private static TensorFlowIgniteException superseded(TaskKey task, String reason) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_ATTEMPT_SUPERSEDED,
        "Task %s %d of job %s (attempt %d, incarnation %d) may not change files: %s. Only the"
            + " current tasks of a job may. End this process.",
        MessageText.role(task.getRole()),
        task.getIndex(),
        task.getJobId(),
        task.getAttempt(),
        task.getIncarnation(),
        reason);
  }
}
