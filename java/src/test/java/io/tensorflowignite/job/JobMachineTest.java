package io.tensorflowignite.job;

import static io.tensorflowignite.job.JobStory.NODE_A;
import static io.tensorflowignite.job.JobStory.NODE_B;
import static io.tensorflowignite.job.JobStory.NODE_C;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.OnJoin;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Quorum;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Arrays;
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

    story.task(Role.WORKER, 1, TaskState.TASK_RESERVED);
    assertEquals(JobState.STARTING, story.job.getState());
    assertEquals(AttemptPhase.RUN, story.attempt().getPhase());
    assertEquals("worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb", story.job.getWaitingFor());

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
  public void placementThatIsNotStableYetIsWaitedForButNotForEver() {
    JobStory story = JobStory.mirrored().look(PlacementResult.waitFor("an owner of partition 3"));
    assertEquals(JobState.PENDING, story.job.getState());
    assertEquals("an owner of partition 3", story.job.getWaitingFor());
    story.passes(601).look(PlacementResult.waitFor("an owner of partition 3"));
    assertEquals(JobState.FAILED, story.job.getState());
    assertContains(story.job.getCause(), "wait timeout 600 s) for an owner of partition 3");
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
        Arrays.asList(reserving(), starting(), running(), running().crashes(Role.WORKER, 0))) {
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
  public void crashRestartsTheJobAfterItsTasksAreGoneAndAPause() {
    JobStory story = running().crashes(Role.WORKER, 1);
    assertEquals(JobState.RESTARTING, story.job.getState());
    assertEquals(AttemptPhase.STOP, story.attempt().getPhase());
    story.provesGone(NODE_A, NODE_B);
    assertEquals("the pause after crash 1 to end", story.job.getWaitingFor());
    story.wait(1);
    assertEquals(JobState.RESERVING, story.job.getState());
    assertEquals(2, story.attempt().getNumber());
    assertEquals(CauseKind.CRASH, story.job.getAttempts(0).getCauseKind());
    assertTrue(story.job.getAttempts(0).hasFinishedAt());
    assertContains(history(story), "crash 1, max_crashes 3");
  }

  @Test
  public void reportsOfAnEarlierAttemptSayNothingOfTheNext() {
    JobStory story = reserving().nodeCannot(NODE_A, "no port");
    story.provesGone(NODE_A, NODE_B).wait(1);
    assertEquals(JobState.RESERVING, story.job.getState());
    assertEquals(2, story.attempt().getNumber());
  }

  @Test
  public void crashesBeyondTheBudgetFailTheJobWithTracebackAndExitCode() {
    JobStory story = running(JobStory.mirrored().asking(spec -> spec.setMaxCrashes(1)));
    story.crashes(Role.WORKER, 1).provesGone(NODE_A, NODE_B).wait(1);
    story.startAndRun().crashes(Role.WORKER, 1);
    assertEquals(JobState.RESTARTING, story.job.getState());
    story.provesGone(NODE_A, NODE_B);
    assertEquals(JobState.FAILED, story.job.getState());
    assertEquals(3, story.job.getExitCode());
    assertEquals("Traceback …\nValueError: no", story.job.getTraceback());
    assertEquals(
        "job 7f3a0000 was not restarted: 2 crashes exceed max_crashes=1; last: worker 1 on node"
            + " bbbbbbbb failed: exited with code 3 (ValueError: no). See: tensorflow-ignite logs"
            + " 7f3a0000 --attempt 2",
        story.job.getCause());
  }

  @Test
  public void pausesGrowAndEnd() {
    assertEquals(1_000, Budget.backOffMs(1));
    assertEquals(2_000, Budget.backOffMs(2));
    assertEquals(4_000, Budget.backOffMs(3));
    assertEquals(30_000, Budget.backOffMs(100));
  }

  @Test
  public void healthyTimeForgivesCrashes() {
    JobStory story = running().crashes(Role.WORKER, 0).provesGone(NODE_A, NODE_B).wait(1);
    story.startAndRun();
    assertEquals(1, story.job.getCrashes());
    story.wait(299);
    assertEquals(1, story.job.getCrashes());
    story.wait(1);
    assertEquals(0, story.job.getCrashes());
    assertEquals(JobState.RUNNING, story.job.getState());
  }

  @Test
  public void scriptThatCannotBeImportedTwiceInARowIsGivenUp() {
    JobStory story = running();
    for (int attempt = 1; attempt <= 2; attempt++) {
      assertEquals(attempt, story.attempt().getNumber());
      story
          .crashes(Role.WORKER, 0, "exited with code 1 (ModuleNotFoundError: No module named 'x')")
          .provesGone(NODE_A, NODE_B)
          .wait(1);
      if (attempt == 1) {
        story.startAndRun();
      }
    }
    assertEquals(JobState.FAILED, story.job.getState());
    assertContains(story.job.getCause(), "failed to load 2 times in a row before the first step");
  }

  @Test
  public void hopelessFailureIsNotTriedAgain() {
    JobStory story = starting();
    story.task(
        Role.WORKER,
        0,
        TaskStatus.newBuilder()
            .setState(TaskState.TASK_FAILED)
            .setHopeless(true)
            .setError("there is no script train.py"));
    story.provesGone(NODE_A, NODE_B);
    assertEquals(JobState.FAILED, story.job.getState());
    assertContains(story.job.getCause(), "there is no script train.py");
  }

  @Test
  public void earliestFailureIsTheCauseWhenSeveralAreSeenAtOnce() {
    JobStory story =
        running()
            .meanwhile(Role.WORKER, 0, failedAt(2_000, "lost its peer"))
            .meanwhile(Role.WORKER, 1, failedAt(1_000, "ran out of memory"))
            .look();
    assertContains(story.attempt().getCause(), "ran out of memory");
  }

  @Test
  public void startThatTakesTooLongIsACrashThatNamesWhatIsMissing() {
    JobStory story = reserving().task(Role.WORKER, 0, TaskState.TASK_RESERVED).wait(121);
    assertEquals(JobState.RESTARTING, story.job.getState());
    assertEquals(CauseKind.START_TIMEOUT, story.attempt().getCauseKind());
    assertContains(
        story.attempt().getCause(),
        "missing: worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb");
    story = starting().wait(121);
    assertContains(story.attempt().getCause(), "start timeout 120 s");
    assertEquals(1, story.job.getCrashes());
    assertEquals(JobState.RESERVING, reserving().wait(119).job.getState());
  }

  @Test
  public void lostNodeRestartsTheJobOnWhatIsLeftWithoutLimit() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.asking(spec -> spec.setMaxCrashes(0));
      story.owners.remove(JobStory.node(NODE_B));
      story.nodeLeaves(NODE_B);
      assertEquals(JobState.RESTARTING, story.job.getState());
      assertEquals(TaskState.TASK_LOST, story.find(Role.WORKER, 1).getStatus().getState());
      story.provesGone(NODE_A);
      assertEquals(
          "its tasks may go on until the lease ends", JobState.RESTARTING, story.job.getState());
      story.wait(6);
      assertEquals(JobState.RESERVING, story.job.getState());
      assertEquals(1, story.attempt().getTasksCount());
      assertEquals(CauseKind.NODE_LEFT, story.job.getAttempts(0).getCauseKind());
      assertEquals(0, story.job.getCrashes());
    }
  }

  @Test
  public void nodeWhoseProcessIsDeadNeedsNoLease() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeDies(NODE_B).provesGone(NODE_A).wait(2);
    assertEquals(JobState.RESERVING, story.job.getState());
  }

  @Test
  public void sideOfACutNetworkGoesOnOnlyIfItIsTheLargerOne() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeLeaves(NODE_B).nodeLeaves(NODE_C).provesGone(NODE_A).wait(7);
    assertEquals(JobState.RESTARTING, story.job.getState());
    assertEquals(
        "more than half of the nodes last seen together (quorum=majority): 1 are here, 2 are gone"
            + " without a proof that they are dead (bbbbbbbb, cccccccc)",
        story.job.getWaitingFor());
    story.nodeDies(NODE_C).wait(7);
    assertEquals("one of two is no majority", JobState.RESTARTING, story.job.getState());
    story.nodeDies(NODE_B);
    assertEquals("the dead are on no side", JobState.RESERVING, story.job.getState());
  }

  @Test
  public void jobThatAsksForNoQuorumGoesOnWithWhateverIsLeft() {
    JobStory story = running(JobStory.mirrored().asking(spec -> spec.setQuorum(Quorum.NONE)));
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeLeaves(NODE_B).nodeLeaves(NODE_C).provesGone(NODE_A).wait(7);
    assertEquals(JobState.RESERVING, story.job.getState());
  }

  @Test
  public void failureThatALostNodeCausedIsNotCountedAsACrash() {
    JobStory story = running().crashes(Role.WORKER, 0);
    assertEquals(1, story.job.getCrashes());
    story.provesGone(NODE_A);
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeDies(NODE_B);
    assertEquals(0, story.job.getCrashes());
    assertEquals(CauseKind.NODE_LEFT, story.attempt().getCauseKind());
    assertEquals("", story.job.getTraceback());
    story.wait(2);
    assertEquals(JobState.RESERVING, story.job.getState());
  }

  @Test
  public void failureOfATaskWhoseDataMovedIsNotCountedAsACrash() {
    JobStory story = JobStory.mirrored().asking(spec -> spec.setMaxCrashes(0)).look().startAndRun();
    story.mapChanges().crashes(Role.WORKER, 0, "partition 0 is not primary on node aaaaaaaa");
    story.provesGone(NODE_A, NODE_B).wait(1);
    assertEquals(JobState.RESTARTING, story.job.getState());
    story.passes(1).dataMoves(NODE_C, 0);
    assertEquals(JobState.RESERVING, story.job.getState());
    assertEquals(0, story.job.getCrashes());
    assertEquals(CauseKind.DATA_MOVED, story.job.getAttempts(0).getCauseKind());
    assertEquals("", story.job.getTraceback());
  }

  @Test
  public void crashIsCountedWhenTheDataMoveOnlyLaterOrNotAtAll() {
    JobStory story = JobStory.mirrored().asking(spec -> spec.setMaxCrashes(1)).look().startAndRun();
    story.crashes(Role.WORKER, 0).provesGone(NODE_A, NODE_B);
    // The pause after a crash has begun by now.
    story.passes(6).dataMoves(NODE_C, 0);
    assertEquals(1, story.job.getCrashes());
    story.startAndRun().mapChanges().crashes(Role.WORKER, 0);
    story.provesGone(NODE_A, NODE_B, NODE_C).wait(6);
    assertEquals(JobState.FAILED, story.job.getState());
    assertEquals(2, story.job.getCrashes());
  }

  @Test
  public void lostDataEndTheJobUnlessItAcceptsThat() {
    for (JobStory story :
        Arrays.asList(reserving(), starting(), running(), running().crashes(Role.WORKER, 0))) {
      story.partitionsAreLost(4, 7);
      assertEquals(JobState.ENDING, story.job.getState());
      assertContains(story.job.getCause(), "data lost: 2 partitions of cache 'digits'");
      story.provesGone(NODE_A, NODE_B);
      assertEquals(JobState.FAILED, story.job.getState());
    }
    assertEquals(JobState.FAILED, JobStory.mirrored().partitionsAreLost(1).job.getState());
    assertEquals(
        JobState.RUNNING,
        running()
            .asking(spec -> spec.setAllowDataLoss(true))
            .partitionsAreLost(4, 7)
            .job
            .getState());
  }

  @Test
  public void tasksFollowTheirDataAfterAQuietTime() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.dataMoves(NODE_A, 0);
      story.wait(4).dataMoves(NODE_A, 2);
      assertNotEquals(JobState.RESTARTING, story.job.getState());
      story.wait(4);
      assertNotEquals(
          "the second move began a new quiet time", JobState.RESTARTING, story.job.getState());
      story.wait(1);
      assertEquals(JobState.RESTARTING, story.job.getState());
      assertEquals(CauseKind.DATA_MOVED, story.attempt().getCauseKind());
      story.provesGone(NODE_A, NODE_B);
      assertEquals(2, story.attempt().getNumber());
    }
  }

  @Test
  public void moveThatIsTakenBackIsForgotten() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(3);
    story.dataMoves(NODE_A, 0, 2).wait(100);
    assertEquals(JobState.RUNNING, story.job.getState());
  }

  @Test
  public void moveIsIgnoredOrAwaitsACheckpointWhereTheJobSaysSo() {
    JobStory ignoring = running(JobStory.mirrored().asking(spec -> spec.setOnJoin(OnJoin.IGNORE)));
    assertEquals(JobState.RUNNING, ignoring.dataMoves(NODE_A, 0).wait(1000).job.getState());

    JobStory patient =
        running(JobStory.mirrored().asking(spec -> spec.setOnJoin(OnJoin.AT_CHECKPOINT)));
    patient.task(Role.WORKER, 0, checkpointAt(10)).dataMoves(NODE_A, 0).wait(1000);
    assertEquals(JobState.RUNNING, patient.job.getState());
    patient.task(Role.WORKER, 0, checkpointAt(20));
    assertEquals(JobState.RESTARTING, patient.job.getState());
  }

  @Test
  public void restartThatFindsNoAssignmentFailsInTheEnd() {
    JobStory story = running().crashes(Role.WORKER, 0).provesGone(NODE_A, NODE_B);
    story.passes(2).look(PlacementResult.waitFor("3 workers (min_workers=3)"));
    assertEquals("3 workers (min_workers=3)", story.job.getWaitingFor());
    story.passes(600).look(PlacementResult.waitFor("3 workers (min_workers=3)"));
    assertEquals(JobState.FAILED, story.job.getState());
    assertContains(story.job.getCause(), "min_workers=3");
  }

  @Test
  public void restartWithoutItsCacheFails() {
    JobStory story = running().crashes(Role.WORKER, 0).provesGone(NODE_A, NODE_B).passes(2);
    story.look(PlacementResult.impossible("cache 'digits' does not exist any more"));
    assertEquals(JobState.FAILED, story.job.getState());
    assertContains(story.job.getCause(), "does not exist any more");
  }

  @Test
  public void shortScriptMaySucceedBeforeItWasSeenRunning() {
    JobStory story = starting().all(TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void parameterServerJobSucceedsWithItsClientAlone() {
    JobStory story = running(JobStory.parameterServer());
    story.task(Role.CLIENT, 0, TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.ENDING, story.job.getState());
    assertEquals(JobState.SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void workerOrClientOfAParameterServerJobIsReplacedInPlace() {
    for (Role role : new Role[] {Role.WORKER, Role.CLIENT}) {
      JobStory story = running(JobStory.parameterServer());
      story.crashes(role, 0);
      assertEquals(JobState.RUNNING, story.job.getState());
      assertEquals(1, story.attempt().getNumber());
      assertEquals(1, story.find(role, 0).getIncarnation());
      assertEquals(TaskState.TASK_RESERVED, story.find(role, 0).getStatus().getState());
      story.look();
      assertEquals(
          "the report of the first incarnation says nothing of the second",
          TaskState.TASK_RESERVED,
          story.find(role, 0).getStatus().getState());
      assertContains(history(story), "crashes (1) <= max_crashes (3)");
    }
  }

  @Test
  public void taskThatEndedWithItsAgentIsNotReplacedSinceItsPortIsGone() {
    JobStory story = running(JobStory.parameterServer());
    story.task(Role.WORKER, 0, failedAt(1_000, "its agent ended").setAgentLost(true));
    assertEquals(JobState.RESTARTING, story.job.getState());
  }

  @Test
  public void replacementsCountAsCrashes() {
    JobStory story =
        running(JobStory.parameterServer().asking(spec -> spec.setMaxCrashes(1)))
            .crashes(Role.WORKER, 0)
            .crashes(Role.WORKER, 0);
    assertEquals(JobState.RESTARTING, story.job.getState());
    story.provesGone(NODE_A, NODE_B);
    assertEquals(JobState.FAILED, story.job.getState());
  }

  @Test
  public void lostParameterServerRestartsTheAttemptWhateverItsExitCode() {
    JobStory story = running(JobStory.parameterServer());
    story.meanwhile(Role.WORKER, 0, failedAt(1_000, "lost its ps"));
    story.task(Role.PS, 0, TaskState.TASK_SUCCEEDED);
    assertEquals(JobState.RESTARTING, story.job.getState());
  }

  @Test
  public void outcomeIsDecidedOnce() {
    JobStory story = running().all(TaskState.TASK_SUCCEEDED);
    story.stopRequested().nodeLeaves(NODE_A).provesGone(NODE_B).wait(7);
    assertEquals(JobState.SUCCEEDED, story.job.getState());
  }

  @Test
  public void jobThatIsOverNeverChanges() {
    Job over = running().all(TaskState.TASK_SUCCEEDED).provesGone(NODE_A, NODE_B).job;
    JobStory story = running().all(TaskState.TASK_SUCCEEDED).provesGone(NODE_A, NODE_B);
    assertEquals(
        over.getState(), story.nodeLeaves(NODE_A).nodeLeaves(NODE_B).wait(1000).job.getState());
    assertEquals(over.getAttemptsCount(), story.job.getAttemptsCount());
    assertEquals(over.getEventsList(), story.job.getEventsList());
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
    assertContains(e.getMessage(), "[job=7f3a0000, state=PENDING");
  }

  private static JobStory reserving() {
    return JobStory.mirrored().look();
  }

  private static JobStory starting() {
    return reserving().all(TaskState.TASK_RESERVED);
  }

  private static JobStory running() {
    return running(JobStory.mirrored());
  }

  private static JobStory running(JobStory story) {
    return story.look().startAndRun();
  }

  private static TaskStatus.Builder failedAt(long millis, String error) {
    return TaskStatus.newBuilder()
        .setState(TaskState.TASK_FAILED)
        .setExitCode(1)
        .setError(error)
        .setFinishedAt(Timestamps.fromMillis(millis));
  }

  private static TaskStatus.Builder checkpointAt(long step) {
    return TaskStatus.newBuilder()
        .setState(TaskState.TASK_RUNNING)
        .setProgress(Progress.newBuilder().setStep(step).setCheckpointStep(step));
  }

  private static String history(JobStory story) {
    return story.job.getEventsList().stream()
        .map(event -> event.getText())
        .collect(Collectors.joining("\n"));
  }

  private static void assertContains(String text, String part) {
    assertTrue(text, text.contains(part));
  }
}
