package io.tensorflowignite.security;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.v1.Access;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import org.junit.Test;

/** Promise (security): Every call verifies a task's token against the row of its job. */
public class TaskTokensTest {
  private static final TaskKey KEY =
      TaskKey.newBuilder()
          .setJobId("3f2a1b00")
          .setAttempt(2)
          .setRole(ROLE_WORKER)
          .setIndex(1)
          .setIncarnation(3)
          .build();
  private final TaskToken token = TaskToken.create(KEY);
  private final Job running = job(attempt(2, ATTEMPT_PHASE_RUN, 3, token.digest()));

  @Test
  public void aTokenNamesItsTask() {
    assertTrue(token.text, token.text.startsWith("task.3f2a1b00.2.worker.1.3."));
    TaskToken read = TaskToken.parse(token.text).get();
    assertEquals(KEY, read.task);
    assertEquals(token.digest(), read.digest());
    assertNotEquals(token.text, TaskToken.create(KEY).text);
    String secret = token.text.substring(token.text.lastIndexOf('.') + 1);
    assertFalse("it is not shown by accident", token.toString().contains(secret));
  }

  @Test
  public void malformedTokensAreRejected() {
    for (String wrong :
        new String[] {
          "",
          "task.",
          token.text + "A",
          token.text.substring(1),
          token.text.replace("worker", "king"),
          token.text.replace(".2.", ".99999999999."),
          token.text + "\n"
        }) {
      assertFalse(wrong, TaskToken.parse(wrong).isPresent());
    }
  }

  @Test
  public void theTokenOfARunningTaskOpensItsJobsCachesAndDirectories() {
    TaskScope scope = TaskTokens.verify(token, running).get();
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
    assertTrue(scope.usesFile("/exports/digits/1.keras"));
    assertFalse(scope.usesFile("/exports/digits2"));
    assertTrue(scope.leadsThrough("/"));
    assertTrue(scope.leadsThrough("/models"));
    assertFalse(scope.leadsThrough("/mod"));
  }

  @Test
  public void aTaskThatPredictsReadsItsModelAndWritesIntoItsOutputCacheAlone() {
    Job.Builder predicting = running.toBuilder();
    predicting
        .getSpecBuilder()
        .getPredictionBuilder()
        .setOutputCache("results")
        .setModelDirectory("ignite:///models/digits");
    TaskScope scope = TaskTokens.verify(token, predicting.build()).get();
    assertTrue(scope.writes("results"));
    assertFalse(scope.reads("results"));
    assertFalse(scope.writes("images"));
    assertTrue(scope.readsFile("/models/digits/3/model.keras"));
    assertFalse(scope.usesFile("/models/digits/3/model.keras"));
    assertFalse(scope.readsFile("/models/digits2/1"));
    assertTrue(scope.readsFile("/jobs/3f2a1b00/finished"));
    assertFalse(TaskTokens.verify(token, running).get().writes("results"));
    assertFalse(TaskTokens.verify(token, running).get().writes(""));
  }

  @Test
  public void aTokenIsValidFromReservingOnUntilItsTaskHasStopped() {
    assertTrue(opens(job(attempt(2, ATTEMPT_PHASE_RESERVE, 3, token.digest()))));
    Attempt stopping = attempt(2, ATTEMPT_PHASE_STOP, 3, token.digest());
    assertTrue(opens(job(stopping)));
    Attempt.Builder stopped = stopping.toBuilder();
    stopped.getTasksBuilder(0).getStatusBuilder().setState(TASK_STATE_STOPPED);
    assertFalse(opens(job(stopped.build())));
  }

  @Test
  public void theTokenOfALostTaskProvesTheEndOfItsAttemptUntilTheNextOne() {
    Attempt.Builder lost = attempt(2, ATTEMPT_PHASE_STOP, 3, token.digest()).toBuilder();
    lost.getTasksBuilder(0).setNodeId("a node").getStatusBuilder().setState(TASK_STATE_LOST);
    NodeReport proof = TaskTokens.proofOfEnd(token, job(lost.build())).get();
    assertEquals("3f2a1b00", proof.getJobId());
    assertEquals(2, proof.getAttempt());
    assertEquals("a node", proof.getNodeId());
    assertEquals(ATTEMPT_PHASE_STOP, proof.getReached());
    assertTrue(opens(job(lost.build())));

    Attempt next = attempt(3, ATTEMPT_PHASE_RESERVE, 3, token.digest());
    assertFalse(TaskTokens.proofOfEnd(token, job(lost.build(), next)).isPresent());
    assertFalse(TaskTokens.proofOfEnd(TaskToken.create(KEY), job(lost.build())).isPresent());
    assertEquals("3f2a1b00", TaskTokens.jobOf(token.text));
    assertEquals("", TaskTokens.jobOf("no token"));
  }

  @Test
  public void aTokenIsInvalidAfterItsTaskItsAttemptOrItsJob() {
    Attempt next = attempt(3, ATTEMPT_PHASE_RESERVE, 3, token.digest());
    assertFalse(opens(job(attempt(2, ATTEMPT_PHASE_RUN, 3, token.digest()), next)));
    assertFalse("replaced", opens(job(attempt(2, ATTEMPT_PHASE_RUN, 4, token.digest()))));
    assertFalse(opens(running.toBuilder().setFinishedAt(Timestamps.fromSeconds(1)).build()));
    assertFalse(opens(running.toBuilder().clearAttempts().build()));
    assertFalse(TaskTokens.verify(TaskToken.create(KEY), running).isPresent());
    assertFalse("no secret", opens(job(attempt(2, ATTEMPT_PHASE_RUN, 3, ByteString.EMPTY))));
  }

  private boolean opens(Job job) {
    return TaskTokens.verify(token, job).isPresent();
  }

  private static Job job(Attempt... attempts) {
    Job.Builder job =
        Job.newBuilder()
            .setId("3f2a1b00")
            .setSpec(
                JobSpec.newBuilder()
                    .setCache("images")
                    .setCheckpointDirectory("ignite://host:10820//models//run/")
                    .setAccess(
                        Access.newBuilder()
                            .addCaches("labels")
                            .addDirectories("ignite:///exports/digits")));
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
                .setRole(ROLE_WORKER)
                .setIndex(1)
                .setIncarnation(incarnation)
                .setNodeId("n")
                .setStatus(TaskStatus.newBuilder().setTokenDigest(digest)))
        .build();
  }
}
