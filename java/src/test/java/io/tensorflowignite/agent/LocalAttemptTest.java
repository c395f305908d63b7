package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.UnprovenAttempt;
import java.nio.charset.StandardCharsets;
import org.junit.Test;

public class LocalAttemptTest {
  private final LocalAttempt attempt =
      new LocalAttempt(Job.newBuilder().setId("3f2a1b00").build(), 2);
  private final Task worker = Task.newBuilder().setRole(ROLE_WORKER).setIndex(1).build();
  private final TaskKey key = LogTable.key("3f2a1b00", 2, worker);

  @Test
  public void aTaskHasATokenAndItsNodeReportsTheDigestInEveryStatus() {
    attempt.reserve(worker, "10.0.0.1:7001", 17);
    String token = attempt.token(key).text;
    assertTrue(token, token.startsWith("task.3f2a1b00.2.worker.1.0."));
    assertReported(token);
    attempt.observe(key, TaskStatus.newBuilder().setState(TASK_STATE_RUNNING).build());
    attempt.fail(key, "it broke");
    assertReported(token);
  }

  private void assertReported(String token) {
    NodeReport report = attempt.report("node");
    assertEquals(1, report.getTasksCount());
    assertEquals(sha256(token), report.getTasks(0).getStatus().getTokenDigest());
    assertFalse(report.toString().contains(token));
  }

  @Test
  public void replacedTaskHasItsOwnToken() {
    attempt.reserve(worker, "10.0.0.1:7001", 17);
    String before = attempt.token(key).text;
    Task next = worker.toBuilder().setIncarnation(1).build();
    assertTrue(attempt.replace(next));
    String token = attempt.token(LogTable.key("3f2a1b00", 2, next)).text;
    assertNotEquals(before, token);
    assertReported(token);
  }

  @Test
  public void aTaskThatLosesItsAgentKeepsItsPidForTheQuarantineOfItsNode() {
    attempt.reserve(worker, "10.0.0.1:7001", 17);
    attempt.observe(key, TaskStatus.newBuilder().setState(TASK_STATE_RUNNING).setPid(7).build());
    attempt.loseAgent("its agent ended");
    TaskStatus lost = attempt.report("node").getTasks(0).getStatus();
    assertEquals(TASK_STATE_FAILED, lost.getState());
    assertEquals(7, lost.getPid());
    assertFalse("the next agent does not start it", attempt.isToStart(key));
    assertFalse(attempt.unproven().isPresent());
    attempt.markUnproven();
    UnprovenAttempt expected =
        UnprovenAttempt.newBuilder().setJobId("3f2a1b00").setAttempt(2).addPids(7).build();
    assertEquals(expected, attempt.unproven().get());
  }

  @Test
  public void aTaskThatTheAgentCouldNotStartIsNotStartedAgain() {
    assertFalse("it is not reserved", attempt.isToStart(key));
    attempt.reserve(worker, "10.0.0.1:7001", 17);
    assertTrue(attempt.isToStart(key));
    attempt.fail(key, "the agent could not start it: its disk is full");
    assertFalse(attempt.isToStart(key));
    assertFalse("its node waits for nothing", attempt.isActive());
    Task next = worker.toBuilder().setIncarnation(1).build();
    assertTrue(attempt.replace(next));
    TaskKey nextKey = LogTable.key("3f2a1b00", 2, next);
    assertTrue(attempt.isToStart(nextKey));
    attempt.markStarted(nextKey);
    assertFalse(attempt.isToStart(nextKey));
  }

  private static ByteString sha256(String text) {
    return ByteString.copyFrom(Hashing.sha256().hashString(text, StandardCharsets.UTF_8).asBytes());
  }
}
