package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.FenceTable;
import io.tensorflowignite.v1.JobFence;
import io.tensorflowignite.v1.TaskKey;
import org.apache.ignite.Ignite;

/**
 * Allows only the current tasks of a job to change files. The transaction of the change reads the
 * job's fence, so it fails when another attempt or incarnation begins before the commit.
 */
public final class TaskFence {
  private final FenceTable fences;

  public TaskFence(Ignite ignite) {
    this.fences = new FenceTable(ignite);
  }

  /** In a change; throws ATTEMPT_SUPERSEDED unless the task is current. */
  void require(TaskKey task) {
    String refusal =
        fences
            .get(task.getJobId())
            .map(fence -> refusal(fence, task))
            .orElse("there is no such job, or it has no attempt yet");
    if (!refusal.isEmpty()) {
      throw superseded(task, refusal);
    }
  }

  /** Why the task is not current; empty: it is. */
  private static String refusal(JobFence fence, TaskKey task) {
    if (fence.getAttempt() != task.getAttempt()) {
      return "the job is at attempt " + fence.getAttempt();
    }
    return fence.getTasksList().stream()
        .filter(known -> known.getRole() == task.getRole() && known.getIndex() == task.getIndex())
        .findFirst()
        .map(
            known ->
                known.getIncarnation() == task.getIncarnation()
                    ? ""
                    : "the task is at incarnation " + known.getIncarnation())
        .orElse("the attempt has no such task");
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
