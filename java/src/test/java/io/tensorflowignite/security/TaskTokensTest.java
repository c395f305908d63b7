package io.tensorflowignite.security;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Optional;
import org.junit.Test;

public class TaskTokensTest {
  private static final TaskKey KEY =
      TaskKey.newBuilder()
          .setJobId("3f2a1b00")
          .setAttempt(2)
          .setRole(Role.WORKER)
          .setIndex(1)
          .setIncarnation(3)
          .build();
  private static final TaskTokens.Reports NO_REPORTS = (job, attempt, node) -> Optional.empty();

  private final TaskToken token = TaskToken.make(KEY);
  private final Job running = job(attempt(2, AttemptPhase.RUN, 3, token.digest()));

  @Test
  public void aTokenSaysWhichTaskItIsOf() {
    assertTrue(token.text(), token.text().startsWith("task.3f2a1b00.2.worker.1.3."));
    TaskToken read = TaskToken.parse(token.text()).get();
    assertEquals(KEY, read.task());
    assertEquals(token.digest(), read.digest());
    assertNotEquals(token.text(), TaskToken.make(KEY).text());
  }

  @Test
  public void aTokenIsNotShownByAccident() {
    String secret = token.text().substring(token.text().lastIndexOf('.') + 1);
    assertFalse(token.toString().contains(secret));
  }

  @Test
  public void whatIsNoTokenIsNone() {
    for (String wrong :
        new String[] {
          "",
          "task.",
          token.text() + "A",
          token.text().substring(1),
          token.text().replace("worker", "king"),
          token.text().replace(".2.", ".99999999999."),
          token.text() + "\n"
        }) {
      assertFalse(wrong, TaskToken.parse(wrong).isPresent());
    }
  }

  @Test
  public void theTokenOfARunningTaskOpensItsJobsCachesAndDirectories() {
    TaskScope scope = TaskTokens.judge(token, running, NO_REPORTS).get();
    assertTrue(scope.hasJob("3f2a1b00"));
    assertTrue(scope.reads("images"));
    assertTrue(scope.reads("labels"));
    assertFalse(scope.reads("salaries"));
    assertTrue(scope.usesFile("/jobs/3f2a1b00/checkpoints/ckpt-1"));
    assertTrue(scope.usesFile("/jobs/3f2a1b00"));
    assertFalse(scope.usesFile("/jobs/3f2a1b000/x"));
    assertFalse(scope.usesFile("/jobs"));
    assertTrue(scope.usesFile("/models/run/a"));
    assertFalse(scope.usesFile("/models/runaway"));
    assertTrue(scope.leadsThrough("/"));
    assertTrue(scope.leadsThrough("/models"));
    assertFalse(scope.leadsThrough("/mod"));
  }

  @Test
  public void aTokenHoldsFromReservingOn() {
    assertTrue(opens(job(attempt(2, AttemptPhase.RESERVE, 3, token.digest()))));
  }

  @Test
  public void aTaskThatIsAskedToEndMayStillSaveAndNobodyWithItsTokenAfterwards() {
    Attempt stopping = attempt(2, AttemptPhase.STOP, 3, token.digest());
    assertTrue(opens(job(stopping)));
    Attempt.Builder stopped = stopping.toBuilder();
    stopped.getTasksBuilder(0).getStatusBuilder().setState(TaskState.TASK_STOPPED);
    assertFalse(opens(job(stopped.build())));
  }

  @Test
  public void itIsWorthNothingWhenThereIsAnotherAttempt() {
    Job restarted =
        job(
            attempt(2, AttemptPhase.RUN, 3, token.digest()),
            attempt(3, AttemptPhase.RESERVE, 3, token.digest()));
    assertFalse(opens(restarted));
  }

  @Test
  public void itIsWorthNothingWhenAnotherProcessHasTheTasksPlace() {
    assertFalse(opens(job(attempt(2, AttemptPhase.RUN, 4, token.digest()))));
  }

  @Test
  public void itIsWorthNothingWhenTheJobIsOver() {
    Job over = running.toBuilder().setFinishedAt(Timestamp.newBuilder().setSeconds(1)).build();
    assertFalse(opens(over));
    assertFalse(opens(running.toBuilder().clearAttempts().build()));
  }

  @Test
  public void anotherSecretIsWorthNothing() {
    assertFalse(TaskTokens.judge(TaskToken.make(KEY), running, NO_REPORTS).isPresent());
    assertFalse(opens(job(attempt(2, AttemptPhase.RUN, 3, ByteString.EMPTY))));
  }

  @Test
  public void whatItsNodeHasReportedCountsBeforeItStandsInTheRow() {
    Job replaced = job(attempt(2, AttemptPhase.RUN, 3, ByteString.EMPTY));
    TaskTokens.Reports reports =
        (job, attempt, node) ->
            Optional.of(
                NodeReport.newBuilder()
                    .addAllTasks(attempt(2, AttemptPhase.RUN, 3, token.digest()).getTasksList())
                    .build());
    assertTrue(TaskTokens.judge(token, replaced, reports).isPresent());
    assertFalse(TaskTokens.judge(TaskToken.make(KEY), replaced, reports).isPresent());
  }

  private boolean opens(Job job) {
    return TaskTokens.judge(token, job, NO_REPORTS).isPresent();
  }

  private static Job job(Attempt... attempts) {
    Job.Builder job =
        Job.newBuilder()
            .setId("3f2a1b00")
            .setSpec(
                JobSpec.newBuilder()
                    .setCache("images")
                    .addMoreCaches("labels")
                    .setCheckpointDirectory("ignite://host:10820//models//run/"));
    for (Attempt attempt : attempts) {
      job.addAttempts(attempt);
    }
    return job.build();
  }

  private static Attempt attempt(
      int number, AttemptPhase phase, int incarnation, ByteString digest) {
    return Attempt.newBuilder()
        .setNumber(number)
        .setPhase(phase)
        .addTasks(
            Task.newBuilder()
                .setRole(Role.WORKER)
                .setIndex(1)
                .setIncarnation(incarnation)
                .setNodeId("n")
                .setStatus(TaskStatus.newBuilder().setTokenDigest(digest)))
        .build();
  }
}
