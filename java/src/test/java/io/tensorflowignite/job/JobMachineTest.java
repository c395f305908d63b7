package io.tensorflowignite.job;

import static io.tensorflowignite.job.JobStory.NODE_A;
import static io.tensorflowignite.job.JobStory.NODE_B;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.AfterClass;
import org.junit.Test;

public class JobMachineTest {
  @AfterClass
  public static void everyTransitionIsExercised() {
    Set<String> missed =
        JobMachine.table().stream().map(Object::toString).collect(Collectors.toSet());
    missed.removeAll(JobStory.TOLD);
    assertTrue("transitions that no test exercises: " + missed, missed.isEmpty());
  }

  @Test
  public void jobRunsInTwoPhasesAndSucceedsOnceItsTasksAreGone() {
    JobStory story = JobStory.mirrored().look();
    assertEquals(JobState.RESERVING, story.job.getState());
    assertEquals(AttemptPhase.RESERVE, story.attempt().getPhase());

    story.task(Role.WORKER, 0, TaskState.TASK_RESERVED);
    assertEquals(JobState.RESERVING, story.job.getState());
    assertEquals(
        "worker 1 on node bbbbbbbb",
        story.job.getWaitingFor().replace("worker 0 on node aaaaaaaa, ", ""));

    story.task(Role.WORKER, 1, TaskState.TASK_RESERVED);
    assertEquals(JobState.STARTING, story.job.getState());
    assertEquals(AttemptPhase.RUN, story.attempt().getPhase());

    story.all(TaskState.TASK_RUNNING);
    assertEquals(JobState.RUNNING, story.job.getState());

    story.task(Role.WORKER, 0, TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.RUNNING, story.job.getState());

    story.task(Role.WORKER, 1, TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.ENDING, story.job.getState());
    assertEquals(AttemptPhase.STOP, story.attempt().getPhase());

    story.provesGone(NODE_A);
    assertEquals(JobState.ENDING, story.job.getState());

    story.provesGone(NODE_B);
    assertEquals(JobState.SUCCEEDED, story.job.getState());
    assertEquals(0, story.job.getExitCode());
    assertTrue(story.job.hasFinishedAt());
  }

  @Test
  public void placementThatIsNotStableYetIsWaitedFor() {
    JobStory story = JobStory.mirrored().look(PlacementResult.waitFor("an owner of partition 3"));
    assertEquals(JobState.PENDING, story.job.getState());
    assertEquals("an owner of partition 3", story.job.getWaitingFor());
  }

  @Test
  public void impossiblePlacementFailsTheJobWithItsReason() {
    JobStory story = JobStory.mirrored().look(PlacementResult.impossible("the cache is gone"));
    assertEquals(JobState.FAILED, story.job.getState());
    assertEquals("the cache is gone", story.job.getCause());
    assertEquals(1, story.job.getExitCode());
  }

  @Test
  public void jobThatWasNeverPlacedStopsAtOnce() {
    JobStory story = JobStory.mirrored().stopRequested();
    assertEquals(JobState.STOPPED, story.job.getState());
    assertEquals(130, story.job.getExitCode());
  }

  @Test
  public void jobIsStoppedOnlyWhenItsTasksAreProvenGone() {
    for (JobStory story :
        new JobStory[] {
          JobStory.mirrored().look(),
          JobStory.mirrored().look().all(TaskState.TASK_RESERVED),
          JobStory.mirrored().running()
        }) {
      story.stopRequested();
      assertEquals(JobState.ENDING, story.job.getState());
      assertEquals(
          "proof that its tasks are gone: node aaaaaaaa, node bbbbbbbb", story.job.getWaitingFor());
      story.provesGone(NODE_A, NODE_B);
      assertEquals(JobState.STOPPED, story.job.getState());
      assertEquals(130, story.job.getExitCode());
    }
  }

  @Test
  public void failedTaskFailsTheJobWithItsTracebackAndExitCode() {
    JobStory story = JobStory.mirrored().running();
    story.task(
        Role.WORKER,
        1,
        TaskStatus.newBuilder()
            .setState(TaskState.TASK_FAILED)
            .setExitCode(3)
            .setError("worker 1 exited with code 3 (ValueError: no)")
            .setTraceback("Traceback …\nValueError: no"));
    story.provesGone(NODE_A, NODE_B);
    assertEquals(JobState.FAILED, story.job.getState());
    assertEquals(3, story.job.getExitCode());
    assertEquals("Traceback …\nValueError: no", story.job.getTraceback());
    assertEquals(
        "worker 1 on node bbbbbbbb failed: worker 1 exited with code 3 (ValueError: no). A job"
            + " fails with the first of its tasks. See: tensorflow-ignite logs 7f3a0000 --task"
            + " worker:1",
        story.job.getCause());
  }

  @Test
  public void earliestFailureIsTheCauseWhenSeveralAreSeenAtOnce() {
    JobStory story =
        JobStory.mirrored()
            .running()
            .meanwhile(Role.WORKER, 0, failedAt(2_000, "lost its peer"))
            .meanwhile(Role.WORKER, 1, failedAt(1_000, "ran out of memory"))
            .look();
    assertTrue(story.job.getCause(), story.job.getCause().contains("ran out of memory"));
  }

  @Test
  public void failureDuringTheStartFailsTheJob() {
    assertFailing(
        JobStory.mirrored().look().nodeCannot(NODE_A, "no port"), "node aaaaaaaa: no port");
    assertFailing(
        JobStory.mirrored()
            .look()
            .all(TaskState.TASK_RESERVED)
            .task(Role.WORKER, 0, TaskState.TASK_FAILED),
        "worker 0");
  }

  @Test
  public void startThatTakesTooLongFailsTheJobAndNamesWhatIsMissing() {
    assertFailing(
        JobStory.mirrored().look().task(Role.WORKER, 0, TaskState.TASK_RESERVED).wait(61),
        "missing: worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb");
    assertFailing(
        JobStory.mirrored().look().all(TaskState.TASK_RESERVED).wait(61), "start timeout 60 s");
  }

  @Test
  public void startThatTakesLongButNotTooLongGoesOn() {
    assertEquals(JobState.RESERVING, JobStory.mirrored().look().wait(59).job.getState());
  }

  @Test
  public void lostNodeFailsTheJobOnceItsLeaseHasRunOut() {
    for (JobStory story :
        new JobStory[] {
          JobStory.mirrored().look(),
          JobStory.mirrored().look().all(TaskState.TASK_RESERVED),
          JobStory.mirrored().running()
        }) {
      story.nodeLeaves(NODE_B);
      assertFailing(story, "left the cluster");
      assertEquals(TaskState.TASK_LOST, story.find(Role.WORKER, 1).getStatus().getState());
      story.provesGone(NODE_A);
      assertEquals(
          "its tasks may go on until the lease ends", JobState.ENDING, story.job.getState());
      story.wait(7);
      assertEquals(JobState.FAILED, story.job.getState());
    }
  }

  @Test
  public void shortScriptMaySucceedBeforeItWasSeenRunning() {
    JobStory story =
        JobStory.mirrored().look().all(TaskState.TASK_RESERVED).all(TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void parameterServerJobSucceedsWithItsClientAlone() {
    JobStory story = JobStory.parameterServer().running();
    story.task(Role.CLIENT, 0, TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.ENDING, story.job.getState());
    assertEquals(JobState.SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void serverThatEndsByItselfFailsItsJobWhateverItsExitCode() {
    JobStory story = JobStory.parameterServer().running();
    story.task(Role.PS, 0, TaskState.TASK_SUCCEEDED);
    assertFailing(story, "ps 0");
  }

  @Test
  public void outcomeIsDecidedOnce() {
    JobStory story = JobStory.mirrored().running().all(TaskState.TASK_SUCCEEDED);
    story.stopRequested().nodeLeaves(NODE_A).provesGone(NODE_B).wait(7);
    assertEquals(JobState.SUCCEEDED, story.job.getState());
  }

  @Test
  public void jobThatIsOverNeverChanges() {
    JobStory story = JobStory.mirrored().running().all(TaskState.TASK_SUCCEEDED);
    Job over = story.provesGone(NODE_A, NODE_B).job;
    assertEquals(over, story.nodeLeaves(NODE_A).nodeLeaves(NODE_B).wait(1000).job);
  }

  @Test
  public void eventThatDoesNotFitTheStateIsRefusedWithTheStory() {
    Job pending = JobStory.mirrored().job;
    IllegalStateException e =
        assertThrows(
            IllegalStateException.class,
            () ->
                JobMachine.apply(
                    pending, JobEvent.of(JobEvent.Type.TASKS_RUNNING), Timestamps.fromMillis(0)));
    assertTrue(e.getMessage(), e.getMessage().contains("[job=7f3a0000, state=PENDING"));
  }

  private static TaskStatus.Builder failedAt(long millis, String error) {
    return TaskStatus.newBuilder()
        .setState(TaskState.TASK_FAILED)
        .setExitCode(1)
        .setError(error)
        .setFinishedAt(Timestamps.fromMillis(millis));
  }

  private static void assertFailing(JobStory story, String cause) {
    assertEquals(JobState.ENDING, story.job.getState());
    assertEquals(JobState.FAILED, story.job.getOutcome());
    assertTrue(story.job.getCause(), story.job.getCause().contains(cause));
  }
}
