package io.tensorflowignite.agent;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.EndProgress;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.WatchResponse;
import org.junit.Test;

public class ProgressFilterTest {
  private static final TaskKey TASK = TaskKey.newBuilder().setJobId("job").setAttempt(1).build();

  private final ProgressFilter filter = new ProgressFilter();

  @Test
  public void laterStepsAreProgressAloneAndTheFirstOneIsNot() {
    assertFalse(isAlone(TaskStatus.newBuilder().setState(TaskState.TASK_STATE_RUNNING)));
    assertFalse(isAlone(running(Progress.newBuilder().setStep(1))));
    assertTrue(isAlone(running(Progress.newBuilder().setStep(2).putMetrics("loss", 0.5))));
    assertTrue(isAlone(running(Progress.newBuilder().setStep(3)).setLogDroppedBytes(7)));
    // Checkpoints, planned ends and ends are no progress alone.
    assertFalse(isAlone(running(Progress.newBuilder().setStep(1).setCheckpointStep(1))));
    EndProgress ready = EndProgress.newBuilder().setReady(true).build();
    assertFalse(isAlone(running(Progress.newBuilder().setStep(1).setEnd(ready))));
    TaskStatus.Builder last = running(Progress.newBuilder().setStep(1).setEnd(ready));
    assertTrue(isAlone(last));
    assertFalse(isAlone(last.setState(TaskState.TASK_STATE_SUCCEEDED)));
  }

  @Test
  public void eachTaskIsComparedWithItselfUntilItIsForgotten() {
    TaskStatus.Builder status = running(Progress.newBuilder().setStep(1));
    assertFalse(isAlone(status));
    TaskKey other = TASK.toBuilder().setIndex(1).build();
    WatchResponse event = WatchResponse.newBuilder().setKey(other).setStatus(status).build();
    assertFalse(filter.isAlone(event));
    filter.retain(other::equals);
    assertTrue(filter.isAlone(event));
    assertFalse(isAlone(status));
  }

  private boolean isAlone(TaskStatus.Builder status) {
    return filter.isAlone(WatchResponse.newBuilder().setKey(TASK).setStatus(status).build());
  }

  private static TaskStatus.Builder running(Progress.Builder progress) {
    return TaskStatus.newBuilder().setState(TaskState.TASK_STATE_RUNNING).setProgress(progress);
  }
}
