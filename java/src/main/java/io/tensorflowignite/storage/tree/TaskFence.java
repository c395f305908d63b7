package io.tensorflowignite.storage.tree;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.Locale;
import org.apache.ignite.Ignite;

/**
 * Lets only the present task of a job change files: its job's row is read in the transaction of the
 * change, which therefore fails when the row changes before it takes effect.
 */
public final class TaskFence {
  private final JobTable jobs;

  public TaskFence(Ignite ignite) {
    this.jobs = new JobTable(ignite);
  }

  /** Inside a change; ATTEMPT_SUPERSEDED. */
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

  private static TensorFlowIgniteException superseded(TaskKey task, String why) {
    return new TensorFlowIgniteException(
        ErrorCode.ATTEMPT_SUPERSEDED,
        String.format(
            "Task %s %d of job %s (attempt %d, incarnation %d) may not change files: %s. Only a"
                + " job's present tasks may. Let this process end.",
            task.getRole().name().toLowerCase(Locale.ROOT),
            task.getIndex(),
            task.getJobId(),
            task.getAttempt(),
            task.getIncarnation(),
            why));
  }
}
