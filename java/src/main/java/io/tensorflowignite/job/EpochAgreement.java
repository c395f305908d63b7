package io.tensorflowignite.job;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.EpochTable;
import io.tensorflowignite.table.FenceTable;
import io.tensorflowignite.v1.AgreeOnRowsRequest;
import io.tensorflowignite.v1.JobFence;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import java.util.List;
import java.util.Optional;
import org.apache.ignite.Ignite;

/**
 * The agreement of the workers of an attempt on the rows of an epoch, without a collective call of
 * TensorFlow: each worker adds its number of rows, and all get the numbers of all.
 */
public final class EpochAgreement {
  private static final int MAX_NAME = 100;

  private final FenceTable fences;
  private final EpochTable epochs;

  public EpochAgreement(Ignite ignite) {
    fences = new FenceTable(ignite);
    epochs = new EpochTable(ignite);
  }

  /** The rows of all workers; empty: some are missing. */
  public Optional<List<Long>> add(AgreeOnRowsRequest request) {
    TaskKey task = task(request);
    int workers = workers(task);
    boolean isComplete =
        request.getOthersCount() == 0
            || (request.getOthersCount() == workers
                && request.getOthersList().stream().allMatch(rows -> rows >= 0));
    if (request.getDataset().isEmpty()
        || request.getDataset().length() > MAX_NAME
        || request.getRows() < 0
        || request.getEpoch() < 0
        || !isComplete) {
      throw invalidRequest(
          "The rows of worker %d of job %s in epoch %d cannot be agreed on: the name of a dataset"
              + " has 1 to %d characters, numbers are 0 or more, and others names all %d workers or"
              + " none. Use the Python package of this version.",
          task.getIndex(), task.getJobId(), request.getEpoch(), MAX_NAME, workers);
    }
    String epoch =
        String.join(
            "/",
            task.getJobId(),
            String.valueOf(task.getAttempt()),
            request.getDataset(),
            String.valueOf(request.getEpoch()));
    return epochs.add(epoch, task.getIndex(), request.getRows(), workers, request.getOthersList());
  }

  /** The caller. */
  public static TaskKey task(AgreeOnRowsRequest request) {
    return TaskKey.newBuilder()
        .setJobId(request.getJobId())
        .setAttempt(request.getAttempt())
        .setRole(ROLE_WORKER)
        .setIndex(request.getWorker())
        .setIncarnation(request.getIncarnation())
        .build();
  }

  /** The number of workers of the attempt, if the task is one of them. */
  private int workers(TaskKey task) {
    Optional<JobFence> fence =
        fences.get(task.getJobId()).filter(known -> known.getAttempt() == task.getAttempt());
    boolean isCurrent =
        fence.stream()
            .flatMap(known -> known.getTasksList().stream())
            .anyMatch(
                known ->
                    known.getRole() == ROLE_WORKER
                        && known.getIndex() == task.getIndex()
                        && known.getIncarnation() == task.getIncarnation());
    if (!isCurrent) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_ATTEMPT_SUPERSEDED,
          "Worker %d of job %s (attempt %d, incarnation %d) may not agree on the rows of an epoch:"
              + " it is no worker of the newest attempt. End this process.",
          task.getIndex(),
          task.getJobId(),
          task.getAttempt(),
          task.getIncarnation());
    }
    return (int)
        fence.get().getTasksList().stream()
            .filter(known -> known.getRole() == ROLE_WORKER)
            .map(Task::getIndex)
            .count();
  }
}
