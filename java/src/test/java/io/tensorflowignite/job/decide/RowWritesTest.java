package io.tensorflowignite.job.decide;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class RowWritesTest {
  private final RowWrites writes = new RowWrites(0);

  private static Job row(TaskState state, long step) {
    Progress progress = Progress.newBuilder().setStep(step).setResumedFromStep(1).build();
    TaskStatus status = TaskStatus.newBuilder().setState(state).setProgress(progress).build();
    return Job.newBuilder()
        .setServiceNodeId("a")
        .addAttempts(Attempt.newBuilder().addTasks(Task.newBuilder().setStatus(status)))
        .build();
  }

  private boolean isDue(Job row, Job observed, boolean hasTransitions, long atMs) {
    return writes.isDue(row, observed, hasTransitions, TimeUnit.MILLISECONDS.toNanos(atMs));
  }

  @Test
  public void transitionsAndUrgentChangesAreWrittenAtOnce() {
    Job row = row(TaskState.TASK_STATE_RUNNING, 2);
    Job moved = row.toBuilder().setServiceNodeId("b").build();
    assertTrue(isDue(row, row, true, 1));
    assertTrue("another service", isDue(row, moved, false, 2));
  }

  @Test
  public void theEndOfASingleTaskIsWrittenOnceASecondAndProgressNever() {
    Job row = row(TaskState.TASK_STATE_RUNNING, 2);
    Job ended = row(TaskState.TASK_STATE_SUCCEEDED, 2);
    assertTrue(isDue(row, ended, false, 1));
    assertFalse(isDue(row, ended, false, 1_000));
    assertTrue(isDue(row, ended, false, 1_001));
    assertFalse(isDue(row, row(TaskState.TASK_STATE_RUNNING, 3), false, 9_000));
  }
}
