package io.tensorflowignite.job.decide;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.ReportReceipt;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class ReportThrottleTest {
  private final ReportThrottle throttle = new ReportThrottle();

  private static NodeReport report(TaskState state, long step) {
    Progress progress = Progress.newBuilder().setStep(step).build();
    TaskStatus status = TaskStatus.newBuilder().setState(state).setProgress(progress).build();
    return NodeReport.newBuilder()
        .setAttempt(1)
        .setNodeId("n")
        .addTasks(Task.newBuilder().setRole(Role.ROLE_WORKER).setStatus(status))
        .build();
  }

  private static NodeReport running(long step) {
    return report(TaskState.TASK_STATE_RUNNING, step);
  }

  private boolean isDue(NodeReport report, String receiver, long atMs) {
    return throttle.isDue(report, receiver, TimeUnit.MILLISECONDS.toNanos(atMs));
  }

  private void confirm(boolean watched) {
    throttle.confirm(
        ReportReceipt.newBuilder()
            .setRevision(throttle.report().getRevision())
            .setWatched(watched)
            .build());
  }

  @Test
  public void whatDecidesIsSentAtOnceAndNothingWithoutAReceiver() {
    assertFalse(isDue(running(1), "", 1_000));
    assertTrue(isDue(running(1), "a", 1_000));
    assertEquals(TimeUnit.SECONDS.toNanos(1), throttle.report().getRevision());
    confirm(false);
    assertFalse(isDue(running(1), "a", 1_001));
    assertTrue("another receiver", isDue(running(1), "b", 1_002));
    assertTrue("an end", isDue(report(TaskState.TASK_STATE_FAILED, 1), "b", 1_003));
  }

  @Test
  public void aReportWithoutAReceiptIsSentAgainAfterASecond() {
    assertTrue(isDue(running(1), "a", 1_000));
    assertFalse(isDue(running(1), "a", 1_999));
    assertTrue(isDue(running(1), "a", 2_000));
    confirm(false);
    assertFalse(isDue(running(1), "a", 6_999));
    assertTrue(isDue(running(1), "a", 7_000));
  }

  @Test
  public void progressIsSentEverySecondOnlyWhileTheJobIsWatched() {
    assertTrue(isDue(running(1), "a", 1_000));
    confirm(false);
    assertFalse(isDue(running(2), "a", 5_999));
    assertTrue(isDue(running(2), "a", 6_000));
    confirm(true);
    assertFalse("no progress", isDue(running(2), "a", 7_500));
    assertFalse(isDue(running(3), "a", 6_999));
    assertTrue(isDue(running(3), "a", 7_000));
  }
}
