package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobStory.NODE_A;
import static io.tensorflowignite.job.decide.JobStory.NODE_B;
import static io.tensorflowignite.job.decide.JobStory.NODE_C;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_LOST;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_FAILED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_LEFT;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NO_ROWS;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_PLANNED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_START_TIMEOUT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.OnJoin.ON_JOIN_AT_CHECKPOINT;
import static io.tensorflowignite.v1.OnJoin.ON_JOIN_IGNORE;
import static io.tensorflowignite.v1.Quorum.QUORUM_NONE;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskStatus;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.AfterClass;
import org.junit.Test;

public class JobMachineTest {
  @AfterClass
  public static void everyTransitionIsExercised() {
    Set<String> missed =
        JobMachine.table().stream().map(Object::toString).collect(Collectors.toSet());
    missed.removeAll(JobStory.EXERCISED);
    assertTrue("transitions that no test exercises: " + missed, missed.isEmpty());
  }

  @Test
  public void tableHasOneTransitionForEachStateAndEvent() {
    for (JobMachine.Transition present : JobMachine.table()) {
      JobState to = present.from == JOB_STATE_ENDING ? present.to : JOB_STATE_PENDING;
      assertRefused("A state has one transition for each event", present.from, present.event, to);
    }
  }

  @Test
  public void finalStatesHaveNoTransitions() {
    for (JobState state : Arrays.asList(JOB_STATE_SUCCEEDED, JOB_STATE_FAILED, JOB_STATE_STOPPED)) {
      for (JobEvent.Type event : JobEvent.Type.values()) {
        assertRefused("A final state has no transitions", state, event, JOB_STATE_PENDING);
      }
    }
  }

  private static void assertRefused(String rule, JobState from, JobEvent.Type event, JobState to) {
    int size = JobMachine.table().size();
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> JobMachine.add(from, event, to, JobActions::close));
    assertContains(refusal.getMessage(), rule);
    assertEquals(size, JobMachine.table().size());
  }

  @Test
  public void jobRunsInTwoPhasesAndSucceedsOnceItsTasksHaveTerminated() {
    JobStory story = JobStory.mirrored().observe().is(JOB_STATE_RESERVING);
    assertEquals(ATTEMPT_PHASE_RESERVE, story.attempt().getPhase());

    story.task(ROLE_WORKER, 0, TASK_STATE_RESERVED).is(JOB_STATE_RESERVING);

    story.task(ROLE_WORKER, 1, TASK_STATE_RESERVED).is(JOB_STATE_STARTING);
    assertEquals(ATTEMPT_PHASE_RUN, story.attempt().getPhase());
    assertEquals("worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb", story.job.getWaitingFor());

    story.all(TASK_STATE_RUNNING).is(JOB_STATE_RUNNING);

    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_RUNNING);

    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    assertEquals(ATTEMPT_PHASE_STOP, story.attempt().getPhase());

    story.provesTermination(NODE_A).is(JOB_STATE_ENDING);

    story.provesTermination(NODE_B).is(JOB_STATE_SUCCEEDED);
    assertEquals(0, story.job.getExitCode());
    assertTrue(story.job.hasFinishedAt());
  }

  @Test
  public void unstablePlacementIsAwaitedUntilTheWaitTimeout() {
    JobStory story =
        JobStory.mirrored()
            .observe(PlacementResult.waitFor("an owner of partition 3"))
            .is(JOB_STATE_PENDING);
    assertEquals("an owner of partition 3", story.job.getWaitingFor());
    story
        .passes(601)
        .observe(PlacementResult.waitFor("an owner of partition 3"))
        .is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "wait timeout 600 s) for an owner of partition 3");
  }

  @Test
  public void impossiblePlacementFailsTheJobWithItsReason() {
    JobStory story =
        JobStory.mirrored()
            .observe(PlacementResult.impossible("the cache is gone"))
            .is(JOB_STATE_FAILED);
    assertEquals("the cache is gone", story.job.getCause());
    assertEquals(1, story.job.getExitCode());
  }

  @Test
  public void jobThatWasNeverPlacedStopsAtOnce() {
    JobStory story = JobStory.mirrored().stopRequested().is(JOB_STATE_STOPPED);
    assertEquals(130, story.job.getExitCode());
  }

  @Test
  public void jobIsStoppedOnlyWhenItsTasksHaveTerminated() {
    for (JobStory story :
        Arrays.asList(reserving(), starting(), running(), running().crashes(ROLE_WORKER, 0))) {
      story.stopRequested().is(JOB_STATE_ENDING);
      assertEquals(
          "proof that its tasks have terminated: node aaaaaaaa, node bbbbbbbb",
          story.job.getWaitingFor());
      story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_STOPPED);
      assertEquals(130, story.job.getExitCode());
    }
  }

  @Test
  public void stopByForceEndsAJobWhoseEndIsNotProvenInTheTimeOfAProof() {
    JobStory story = JobStory.mirrored().observe().all(TASK_STATE_RESERVED);
    for (int index = 0; index < 2; index++) {
      TaskStatus.Builder status = TaskStatus.newBuilder().setState(TASK_STATE_RUNNING);
      story.task(ROLE_WORKER, index, status.setPid(100 + index));
    }
    story.stopRequested().provesTermination(NODE_A).wait(26).is(JOB_STATE_ENDING);
    assertEquals("proof that its tasks have terminated: node bbbbbbbb", story.job.getWaitingFor());
    story.wait(1).is(JOB_STATE_ENDING);
    assertEquals(
        "proof that its tasks have terminated: node bbbbbbbb (pids 101). A node proves it within 27"
            + " s (stop grace, two leases and 10 s), and the wait timeout ends the job. End these"
            + " processes, or start the node again; or end the job now: tensorflow-ignite stop"
            + " --force 7f3a0000",
        story.job.getWaitingFor());

    story.forceStopRequested().is(JOB_STATE_STOPPED);
    assertEquals(
        "stopped on request; processes of attempt 1 may still run on node bbbbbbbb (pids 101):"
            + " their end was not proven 27 s after it was decided (stop grace, two leases and 10"
            + " s: 27 s). These nodes get no task of any job before their agents have proven it."
            + " End these processes, or start the node again",
        story.job.getCause());
    assertEquals(List.of(NODE_B), story.attempt().getUnprovenNodeIdsList());
    assertEquals(130, story.job.getExitCode());
    assertTrue(story.job.hasFinishedAt());
  }

  @Test
  public void stopByForceWaitsForAProofThatComesInTime() {
    JobStory story = running().forceStopRequested().is(JOB_STATE_ENDING).wait(26);
    story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_STOPPED);
    assertEquals("stopped on request", story.job.getCause());
    assertEquals(0, story.attempt().getUnprovenNodeIdsCount());
  }

  @Test
  public void jobWhoseEndIsNotProvenEndsWithItsOutcomeAfterTheWaitTimeout() {
    JobStory succeeded = running().all(TASK_STATE_SUCCEEDED).provesTermination(NODE_A);
    succeeded.wait(599).is(JOB_STATE_ENDING).wait(1).is(JOB_STATE_SUCCEEDED);
    assertEquals("", succeeded.job.getCause());
    assertEquals(List.of(NODE_B), succeeded.attempt().getUnprovenNodeIdsList());
    assertContains(history(succeeded), "processes of attempt 1 may still run on node bbbbbbbb:");

    JobStory failed = running().partitionsAreLost(3).wait(600).is(JOB_STATE_FAILED);
    assertContains(failed.job.getCause(), "data lost: 1 partitions");
    assertContains(
        failed.job.getCause(), "may still run on node aaaaaaaa, node bbbbbbbb: their end");
    assertContains(failed.job.getCause(), "(wait timeout 600 s)");

    running().stopRequested().wait(600).is(JOB_STATE_STOPPED);
  }

  @Test
  public void jobThatRestartsFailsWhenTheEndOfItsAttemptIsNotProvenWithinTheWaitTimeout() {
    JobStory story = running().crashes(ROLE_WORKER, 1).provesTermination(NODE_B);
    story.wait(599).is(JOB_STATE_RESTARTING);
    assertContains(story.job.getWaitingFor(), "tensorflow-ignite stop --force 7f3a0000");
    story.wait(1).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "processes of attempt 1 may still run on node aaaaaaaa");
    assertEquals(List.of(NODE_A), story.attempt().getUnprovenNodeIdsList());
    assertEquals(3, story.job.getExitCode());

    JobStory shortWait =
        running(
            JobStory.mirrored().withSpec(spec -> spec.setWaitTimeout(Durations.fromSeconds(1))));
    shortWait.crashes(ROLE_WORKER, 1).wait(26).is(JOB_STATE_RESTARTING);
    shortWait.wait(1).is(JOB_STATE_FAILED);
  }

  @Test
  public void crashRestartsTheJobAfterTheEndOfItsTasksAndABackOff() {
    JobStory story = running().crashes(ROLE_WORKER, 1).is(JOB_STATE_RESTARTING);
    assertEquals(ATTEMPT_PHASE_STOP, story.attempt().getPhase());
    story.provesTermination(NODE_A, NODE_B);
    assertEquals("the pause after crash 1 to end", story.job.getWaitingFor());
    story.wait(1).is(JOB_STATE_RESERVING);
    assertEquals(2, story.attempt().getNumber());
    assertEquals(CAUSE_KIND_CRASH, story.ended.get(0).getCauseKind());
    assertTrue(story.ended.get(0).hasFinishedAt());
    assertContains(history(story), "crash 1, max_crashes 3");
  }

  @Test
  public void crashRestartsTheJobInEachActiveState() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.crashes(ROLE_WORKER, 1).is(JOB_STATE_RESTARTING);
      assertEquals(1, story.job.getCrashes());
    }
  }

  @Test
  public void anAttemptWhoseNodeAsksForItsEndMakesWayForTheNextInEachActiveState() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      TaskStatus.Builder status = story.find(ROLE_WORKER, 0).getStatus().toBuilder();
      story.task(ROLE_WORKER, 0, status.setEndRequested("is being stopped"));
      story.is(JOB_STATE_RESTARTING);
      assertEquals("node aaaaaaaa with worker 0 is being stopped", story.attempt().getCause());
      assertEquals(CAUSE_KIND_PLANNED, story.attempt().getCauseKind());
      story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESERVING);
      assertEquals(0, story.job.getCrashes());
    }
    JobStory saving =
        running().worker(0, 0, false, 0).worker(1, 0, false, 0).stopWithSaveRequested();
    saving.is(JOB_STATE_RUNNING).worker(0, 8, true, 8).worker(1, 8, true, 0).is(JOB_STATE_ENDING);
  }

  @Test
  public void reportsOfAnEarlierAttemptDoNotCountForTheNext() {
    JobStory story = reserving().nodeFails(NODE_A, "no port");
    story.provesTermination(NODE_A, NODE_B).wait(1).is(JOB_STATE_RESERVING);
    assertEquals(2, story.attempt().getNumber());
  }

  @Test
  public void crashesBeyondTheBudgetFailTheJobWithTracebackAndExitCode() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setMaxCrashes(1)));
    story.crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B).wait(1);
    story.startAndRun().crashes(ROLE_WORKER, 1).is(JOB_STATE_RESTARTING);
    story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
    assertEquals(3, story.job.getExitCode());
    assertEquals("Traceback …\nValueError: no", story.job.getTraceback());
    assertEquals(
        "job 7f3a0000 was not restarted: 2 crashes exceed max_crashes=1; last: worker 1 on node"
            + " bbbbbbbb failed: exited with code 3 (ValueError: no). See: tensorflow-ignite logs"
            + " 7f3a0000 --attempt 2",
        story.job.getCause());
  }

  @Test
  public void aFirstCrashAfterAStepHasNoPauseAndLaterOnesHave() {
    JobStory story = running().all(atStep(40, 0));
    story.crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESERVING);
    story.startAndRun().all(atStep(80, 40));
    story.crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
    assertEquals("the pause after crash 2 to end", story.job.getWaitingFor());
    story.wait(2).is(JOB_STATE_RESERVING);
    running().crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void aFirstCrashOfAScriptThatReportsNoStepHasNoPauseAfterTenSeconds() {
    JobStory early = running().wait(9).crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B);
    early.is(JOB_STATE_RESTARTING);
    JobStory late = running().wait(10).crashes(ROLE_WORKER, 1).provesTermination(NODE_A, NODE_B);
    late.is(JOB_STATE_RESERVING);
  }

  @Test
  public void backOffsGrowUpToALimit() {
    assertEquals(Duration.ofSeconds(1), CrashBudget.backOff(1));
    assertEquals(Duration.ofSeconds(2), CrashBudget.backOff(2));
    assertEquals(Duration.ofSeconds(4), CrashBudget.backOff(3));
    assertEquals(Duration.ofSeconds(30), CrashBudget.backOff(100));
  }

  @Test
  public void healthyTimeResetsTheCrashCount() {
    JobStory story = running().crashes(ROLE_WORKER, 0).provesTermination(NODE_A, NODE_B).wait(1);
    story.startAndRun();
    assertEquals(1, story.job.getCrashes());
    story.wait(299);
    assertEquals(1, story.job.getCrashes());
    story.wait(1);
    assertEquals(0, story.job.getCrashes());
    assertEquals(JOB_STATE_RUNNING, story.job.getState());
  }

  @Test
  public void clocksThatDifferOrAreSetChangeNothing() {
    for (int jump : new int[] {600, -600, 86_400}) {
      PlacementResult missing = PlacementResult.waitFor("an owner of partition 3");
      JobStory waiting = JobStory.mirrored().observe(missing).clockIsSet(jump).observe(missing);
      waiting.is(JOB_STATE_PENDING);
      waiting.passes(601).observe(missing).is(JOB_STATE_FAILED);

      starting().clockIsSet(jump).observe().is(JOB_STATE_STARTING);

      JobStory moved = running().dataMoves(NODE_A, 0).clockIsSet(jump).observe();
      moved.is(JOB_STATE_RUNNING).wait(5).is(JOB_STATE_RESTARTING);

      JobStory left = running();
      left.owners.remove(JobStory.node(NODE_B));
      left.nodeLeaves(NODE_B).clockIsSet(jump).provesTermination(NODE_A);
      left.is(JOB_STATE_RESTARTING).wait(8).is(JOB_STATE_RESERVING);

      JobStory crashed = running().crashes(ROLE_WORKER, 0).clockIsSet(jump);
      crashed.provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
      crashed.wait(1).is(JOB_STATE_RESERVING);
    }
  }

  @Test
  public void timersBeginAnewWhenAnotherNodeTakesTheServiceOver() {
    starting().wait(100).serviceMoves(600).wait(100).is(JOB_STATE_STARTING).wait(20);

    JobStory left = running();
    left.owners.remove(JobStory.node(NODE_B));
    left.nodeLeaves(NODE_B).provesTermination(NODE_A).wait(5);
    left.serviceMoves(600).wait(7).is(JOB_STATE_RESTARTING);
    left.wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void theCauseIsTheTaskWhoseErrorNoOtherTaskExplains() {
    JobStory story = running();
    story.meanwhile(ROLE_WORKER, 0, failed("UnavailableError: Socket closed", 1));
    story.task(ROLE_WORKER, 1, failed("ValueError: no", 600)).is(JOB_STATE_RESTARTING);
    assertContains(story.attempt().getCause(), "worker 1");
  }

  @Test
  public void aNodeThatFailsIsNoCrashOfTheScript() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.nodeFails(NODE_A, "no port").is(JOB_STATE_RESTARTING);
      assertEquals(CAUSE_KIND_NODE_FAILED, story.attempt().getCauseKind());
      assertEquals(0, story.job.getCrashes());
      assertEquals(1, story.job.getNodeFailures());
    }
    JobStory story = running().task(ROLE_WORKER, 0, endedByNode()).is(JOB_STATE_RESTARTING);
    assertEquals(CAUSE_KIND_NODE_FAILED, story.attempt().getCauseKind());
    story.provesTermination(NODE_A, NODE_B).wait(1).startAndRun().wait(300);
    assertEquals(0, story.job.getNodeFailures());
  }

  @Test
  public void aCrashIsNotCountedWhenItsReasonIsANodeThatFails() {
    JobStory story = running().crashes(ROLE_WORKER, 1, "exited with code 1: UnavailableError");
    assertEquals(1, story.job.getCrashes());
    story.task(ROLE_WORKER, 0, endedByNode());
    assertEquals(0, story.job.getCrashes());
    assertEquals(1, story.job.getNodeFailures());
    assertEquals(CAUSE_KIND_NODE_FAILED, story.attempt().getCauseKind());
    assertContains(history(story), "not counted as a crash, since worker 0");
    assertContains(history(story), "attempt 1 ended (failure 1 of nodes, limit 5 in a row)");
    story.provesTermination(NODE_A, NODE_B).wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void fiveFailuresOfNodesInARowFailTheJob() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setMaxCrashes(0)));
    for (int failure = 1; failure <= 4; failure++) {
      story.task(ROLE_WORKER, 0, endedByNode()).provesTermination(NODE_A, NODE_B);
      assertEquals(
          "the pause after failure " + failure + " of nodes to end", story.job.getWaitingFor());
      story.wait(30).is(JOB_STATE_RESERVING).startAndRun();
    }
    story.task(ROLE_WORKER, 0, endedByNode()).provesTermination(NODE_A, NODE_B);
    story.is(JOB_STATE_FAILED);
    assertContains(
        story.job.getCause(), "its nodes failed, or did not start its tasks in time, 5 times in a");
  }

  @Test
  public void restartsWithoutAStepBetweenThemAreBounded() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setMaxRestarts(3)));
    story.all(atStep(40, 0));
    for (int restart = 1; restart <= 3; restart++) {
      story.dataMoves(NODE_A, restart).wait(5).provesTermination(NODE_A, NODE_B);
      assertEquals(restart - 1, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun().all(atStep(40, 40));
    }
    story.dataMoves(NODE_A, 9).wait(5).provesTermination(NODE_A, NODE_B).startAndRun();
    story.nodeStops(NODE_B).provesTermination(NODE_A).wait(2).is(JOB_STATE_FAILED);
    assertContains(
        story.job.getCause(),
        "4 restarts in a row without a further step exceed max_restarts=3; causes: node-left 1"
            + " times (last: node bbbbbbbb with worker 1 has left the cluster), data-moved 3 times"
            + " (last: the primary partitions of cache 'digits' moved");
  }

  @Test
  public void aStepOrAHealthyTimeEndsTheCountOfRestarts() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setMaxRestarts(1)));
    for (int restart = 1; restart <= 5; restart++) {
      story.all(atStep(10 * restart, 10 * restart - 1));
      story.dataMoves(NODE_A, restart).wait(5).provesTermination(NODE_A, NODE_B);
      assertEquals(0, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun();
    }
    for (int restart = 6; restart <= 9; restart++) {
      story.dataMoves(NODE_A, restart).wait(5).provesTermination(NODE_A, NODE_B);
      assertEquals(1, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun().wait(300);
      assertEquals(0, story.job.getIdleRestarts());
    }
  }

  @Test
  public void aCrashThatANodeCausedCountsAsARestartWithoutAStep() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setMaxRestarts(0)));
    story.crashes(ROLE_WORKER, 0).nodeLeaves(NODE_B);
    assertEquals(0, story.job.getCrashes());
    story.provesTermination(NODE_A).wait(8).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "1 restarts in a row without a further step");
  }

  private static TaskStatus.Builder atStep(long step, long resumedFrom) {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_RUNNING)
        .setProgress(Progress.newBuilder().setStep(step).setResumedFromStep(resumedFrom));
  }

  private static TaskStatus.Builder endedByNode() {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_FAILED)
        .setNodeFailed(true)
        .setError("its agent (pid 7) ended");
  }

  private static TaskStatus.Builder failed(String exception, int atSecond) {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_FAILED)
        .setError("exited with code 1: " + exception)
        .setFinishedAt(Timestamps.fromSeconds(atSecond));
  }

  @Test
  public void theSameExceptionTwiceBeforeTheFirstStepFailsTheJob() {
    String typo = "worker 0 exited with code 1: NameError: name 'x' is not defined";
    JobStory story = crashesInTwoAttempts(typo, typo).is(JOB_STATE_FAILED);
    assertContains(
        story.job.getCause(), "raised the same exception 2 times in a row before the first step");
  }

  @Test
  public void otherExceptionsBeforeTheFirstStepAreRetried() {
    String first = "worker 0 exited with code 1: KeyError: 'a'";
    crashesInTwoAttempts(first, "worker 0 exited with code 1: KeyError: 'b'")
        .is(JOB_STATE_RESERVING);
    for (String mayPass : List.of("a.b.UnavailableError: peer", "ConnectionRefusedError")) {
      String error = "worker 0 exited with code 1: " + mayPass;
      crashesInTwoAttempts(error, error).is(JOB_STATE_RESERVING);
    }
  }

  @Test
  public void errorsOfTheClusterThatMayPassAreRetriedInEachKindOfJob() {
    for (String mayPass :
        List.of(
            "LimitExceededError",
            "RequestTimeoutError",
            "PredictionTimeoutError",
            "ClusterNotActiveError",
            "NoAgentError",
            "PartitionNotLocalError",
            "ModelNotServedError")) {
      String error = "exited with code 1: tensorflow_ignite.errors." + mayPass + ": for now";
      crashesInTwoAttempts(error, error).is(JOB_STATE_RESERVING);
      JobStory prediction = running(JobStory.predict());
      prediction.crashes(ROLE_WORKER, 0, "worker 0 " + error).is(JOB_STATE_RUNNING).startAndRun();
      prediction.crashes(ROLE_WORKER, 1, "worker 1 " + error).is(JOB_STATE_RUNNING);
    }
    String lasting = "exited with code 1: tensorflow_ignite.errors.AttemptSupersededError: by 2";
    crashesInTwoAttempts(lasting, lasting).is(JOB_STATE_FAILED);
  }

  @Test
  public void theSameExceptionAfterAStepIsRetried() {
    JobStory story = running();
    for (int attempt = 1; attempt <= 2; attempt++) {
      // Only the chief reports; it resumed from step 4 in each attempt.
      Progress progress = Progress.newBuilder().setResumedFromStep(4).setStep(5).build();
      story.meanwhile(
          ROLE_WORKER,
          0,
          TaskStatus.newBuilder().setState(TASK_STATE_RUNNING).setProgress(progress));
      story
          .crashes(ROLE_WORKER, 1, "worker 1 exited with code 1: ValueError: a row")
          .provesTermination(NODE_A, NODE_B)
          .wait(2)
          .is(JOB_STATE_RESERVING)
          .startAndRun();
    }
  }

  @Test
  public void theSameExceptionTwiceFailsAPredictionHoweverManyRowsArePredicted() {
    JobStory story = running(JobStory.predict());
    String error = "worker 0 exited with code 1: ValueError: a row";
    story.meanwhile(ROLE_WORKER, 1, atStep(900, 0));
    story.crashes(ROLE_WORKER, 0, error).is(JOB_STATE_RUNNING).startAndRun();
    story.meanwhile(ROLE_WORKER, 0, atStep(5, 0));
    story.crashes(ROLE_WORKER, 0, error).provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "raised the same exception 2 times in a row; last:");
  }

  private static JobStory crashesInTwoAttempts(String first, String second) {
    JobStory story = running().crashes(ROLE_WORKER, 0, first);
    story.provesTermination(NODE_A, NODE_B).wait(1).startAndRun();
    return story.crashes(ROLE_WORKER, 0, second).provesTermination(NODE_A, NODE_B).wait(2);
  }

  @Test
  public void permanentFailureIsNotRetried() {
    JobStory story = starting();
    story.task(
        ROLE_WORKER,
        0,
        TaskStatus.newBuilder()
            .setState(TASK_STATE_FAILED)
            .setFailedPermanently(true)
            .setError("there is no script train.py"));
    story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "there is no script train.py");
  }

  @Test
  public void earliestFailureIsTheCauseWhenSeveralAreObservedAtOnce() {
    JobStory story =
        running()
            .meanwhile(ROLE_WORKER, 0, failedAt(2_000, "lost its peer"))
            .meanwhile(ROLE_WORKER, 1, failedAt(1_000, "ran out of memory"))
            .observe();
    assertContains(story.attempt().getCause(), "ran out of memory");
  }

  @Test
  public void startTimeoutIsAFailureOfNodesThatNamesTheMissingTasks() {
    JobStory story =
        reserving().task(ROLE_WORKER, 0, TASK_STATE_RESERVED).wait(121).is(JOB_STATE_RESTARTING);
    assertEquals(CAUSE_KIND_START_TIMEOUT, story.attempt().getCauseKind());
    assertContains(
        story.attempt().getCause(),
        "missing: worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb");
    story = starting().wait(121);
    assertContains(story.attempt().getCause(), "start timeout 120 s");
    assertEquals(0, story.job.getCrashes());
    assertEquals(1, story.job.getNodeFailures());
    assertEquals(JOB_STATE_RESERVING, reserving().wait(119).job.getState());
  }

  @Test
  public void eachStartTimeoutInARowGivesTwiceTheTimeUpToEightTimes() {
    JobStory story = reserving();
    for (int seconds : new int[] {120, 240, 480, 960, 960}) {
      story.wait(seconds - 1).is(JOB_STATE_RESERVING).wait(1).is(JOB_STATE_RESTARTING);
      story.provesTermination(NODE_A, NODE_B).wait(30);
    }
    story.is(JOB_STATE_FAILED);
  }

  @Test
  public void aStallIsACrashWithACauseOfItsOwn() {
    JobStory story = running();
    story.meanwhile(ROLE_WORKER, 1, TaskStatus.newBuilder().setState(TASK_STATE_SUCCEEDED));
    story.task(ROLE_WORKER, 0, stalled()).is(JOB_STATE_RESTARTING);
    assertEquals(CAUSE_KIND_STALL, story.attempt().getCauseKind());
    assertEquals(1, story.job.getCrashes());
    assertContains(
        story.attempt().getCause(),
        "worker 0 stalled; it may have waited for worker 1, which had ended with exit code 0");
    story.provesTermination(NODE_A, NODE_B).wait(2).is(JOB_STATE_RESERVING);
  }

  @Test
  public void aStalledClientIsNotReplacedSinceAServerMayBeTheCause() {
    JobStory story = running(JobStory.parameterServer());
    story.task(ROLE_CLIENT, 0, stalled()).is(JOB_STATE_RESTARTING);
  }

  private static TaskStatus.Builder stalled() {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_FAILED)
        .setStalled(true)
        .setError("worker 0 stalled");
  }

  @Test
  public void lostNodeRestartsTheJobOnTheRemainingNodesWithoutLimit() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.withSpec(spec -> spec.setMaxCrashes(0));
      story.owners.remove(JobStory.node(NODE_B));
      story.nodeLeaves(NODE_B).is(JOB_STATE_RESTARTING);
      assertEquals(TASK_STATE_LOST, story.find(ROLE_WORKER, 1).getStatus().getState());
      story.provesTermination(NODE_A);
      assertEquals(
          "its tasks may go on until the lease ends", JOB_STATE_RESTARTING, story.job.getState());
      story.wait(7).is(JOB_STATE_RESTARTING).wait(1).is(JOB_STATE_RESERVING);
      assertEquals(1, story.attempt().getTasksCount());
      assertEquals(CAUSE_KIND_NODE_LEFT, story.ended.get(0).getCauseKind());
      assertEquals(0, story.job.getCrashes());
    }
  }

  @Test
  public void nodeThatIsStoppedInOrderNeedsNoLease() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeStops(NODE_B).provesTermination(NODE_A).wait(1).is(JOB_STATE_RESTARTING);
    story.wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void agentThatHasOutlivedItsNodeProvesTheEndOfItsTasksBeforeTheLeaseEnds() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story.terminated.add(NODE_B);
    story.wait(1).is(JOB_STATE_RUNNING);
    story.nodeLeaves(NODE_B).is(JOB_STATE_RESTARTING).provesTermination(NODE_A);
    story.is(JOB_STATE_RESERVING);
    story.startAndRun().nodeFails(NODE_A, "no").is(JOB_STATE_RESTARTING);
    story.wait(2).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void leaseOfALostNodeCountsFromItsLossAndNotFromAnEarlierCrash() {
    JobStory story = running().crashes(ROLE_WORKER, 0).provesTermination(NODE_A).wait(20);
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeLeaves(NODE_B).wait(7).is(JOB_STATE_RESTARTING).wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void aJobInTheQueueWaitsWithoutATimeLimit() {
    JobStory story = JobStory.mirrored();
    story.queued = true;
    story.observe().wait(100_000).is(JOB_STATE_PENDING);
    assertEquals("a place in the queue", story.job.getWaitingFor());
    story.queued = false;
    story.observe().is(JOB_STATE_RESERVING);

    JobStory stopped = JobStory.mirrored();
    stopped.queued = true;
    stopped.observe().stopRequested().observe().is(JOB_STATE_STOPPED);
  }

  @Test
  public void theTimeInTheQueueDoesNotCountForTheWaitTimeout() {
    JobStory story = JobStory.mirrored();
    story.queued = true;
    PlacementResult moves = PlacementResult.waitFor("an owner of partition 1 of cache 'digits'");
    story.observe().wait(3_600).observe(moves).is(JOB_STATE_PENDING);
    story.passes(599).observe(moves).is(JOB_STATE_PENDING);
    story.observe().passes(599).observe(moves).is(JOB_STATE_PENDING);
    story.passes(601).observe(moves).is(JOB_STATE_FAILED);
  }

  @Test
  public void aJobThatRunsKeepsItsAttemptUntilTheGpusOfTheNextOneAreFree() {
    JobStory story = withGpus();
    story.gpus = "GPUs of node cccccccc";
    story.dataMoves(NODE_C, 0).wait(3_600).is(JOB_STATE_RUNNING);
    assertEquals("", story.job.getWaitingFor());
    story.observe(PlacementResult.waitFor("the partition map")).is(JOB_STATE_RUNNING);
    story.gpus = null;
    story.observe().is(JOB_STATE_RESTARTING);
  }

  @Test
  public void aTaskThatFailsWhileItsDataMovesToGpusOfAnotherJobIsNoCrash() {
    JobStory story = withGpus();
    story.gpus = "GPUs of node cccccccc";
    story.dataMoves(NODE_C, 0).crashes(ROLE_WORKER, 0).all(TASK_STATE_STOPPED);
    story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
    assertEquals(0, story.job.getCrashes());
    assertEquals(CAUSE_KIND_DATA_MOVED, story.attempt().getCauseKind());
  }

  @Test
  public void aJobThatRestartsWaitsForGpusOfOtherJobsWithoutALimit() {
    JobStory story = withGpus();
    story.gpus = "GPUs of node cccccccc";
    story.dataMoves(NODE_C, 0).crashes(ROLE_WORKER, 0).all(TASK_STATE_STOPPED);
    assertFalse("others may not have its GPUs yet", story.attempt().hasFinishedAt());
    story.passes(1).provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
    assertTrue("its GPUs are free for others", story.attempt().hasFinishedAt());
    story.wait(3_600).is(JOB_STATE_RESTARTING);
    assertEquals("GPUs of node cccccccc", story.job.getWaitingFor());
    assertEquals(0, story.job.getNodeFailures());
    // Other obstacles have the wait timeout from then on.
    PlacementResult obstacle = PlacementResult.waitFor("an owner of partition 3");
    story.passes(599).observe(obstacle).is(JOB_STATE_RESTARTING);
    story.gpus = null;
    story.observe().is(JOB_STATE_RESERVING);
    assertEquals(2, story.attempt().getNumber());
  }

  @Test
  public void aStopEndsAJobThatWaitsForGpusAtOnce() {
    JobStory story = withGpus();
    story.gpus = "GPUs of node cccccccc";
    story.dataMoves(NODE_C, 0).crashes(ROLE_WORKER, 0).all(TASK_STATE_STOPPED);
    story.passes(1).provesTermination(NODE_A, NODE_B).is(JOB_STATE_RESTARTING);
    story.stopRequested().is(JOB_STATE_STOPPED);
  }

  @Test
  public void aJobWithoutGpusFollowsItsDataAlsoWhileTheMapChanges() {
    JobStory story = running();
    story.dataMoves(NODE_C, 0).passes(6);
    story.observe(PlacementResult.waitFor("the partition map")).is(JOB_STATE_RESTARTING);
    assertFalse(story.attempt().hasFinishedAt());
  }

  private static JobStory withGpus() {
    JobStory story = JobStory.mirrored().withSpec(spec -> spec.setGpusPerWorker(1));
    return story.observe().startAndRun().is(JOB_STATE_RUNNING);
  }

  @Test
  public void theWaitTimeoutOfAnAdmittedJobBeginsWithItsAdmission() {
    JobStory story = JobStory.mirrored();
    story.queued = true;
    story.observe().wait(100_000);
    story.queued = false;
    story.job = story.job.toBuilder().setAdmittedAt(Timestamps.fromSeconds(5)).build();
    PlacementResult obstacle = PlacementResult.waitFor("an owner of partition 3");
    story.observe(obstacle).is(JOB_STATE_PENDING);
    story.passes(599).observe(obstacle).is(JOB_STATE_PENDING);
    story.passes(1).observe(obstacle).is(JOB_STATE_FAILED);
  }

  @Test
  public void sideOfACutNetworkGoesOnOnlyIfItIsTheLargerOne() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story
        .nodeLeaves(NODE_B)
        .nodeLeaves(NODE_C)
        .provesTermination(NODE_A)
        .wait(8)
        .is(JOB_STATE_RESTARTING);
    assertEquals(
        "a majority of the 3 nodes of its cluster (quorum=majority: more than half, or half with"
            + " the oldest, node aaaaaaaa); 1 are here, missing: bbbbbbbb at 127.0.0.1:1, cccccccc"
            + " at 127.0.0.1:1. Start them again; or, if they are off for good: tensorflow-ignite"
            + " quorum accept 7f3a0000",
        story.job.getWaitingFor());
    story.nodeIsBack(NODE_C);
    assertEquals("two of three members", JOB_STATE_RESERVING, story.job.getState());
  }

  @Test
  public void nodesThatLeaveInOrderGiveTheirVotesBack() {
    JobStory story = running();
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeStops(NODE_C).nodeLeaves(NODE_B).provesTermination(NODE_A);
    assertEquals(2, story.job.getMembersCount());
    story.wait(8);
    assertEquals("half with the oldest", JOB_STATE_RESERVING, story.job.getState());
  }

  @Test
  public void halfWithoutTheOldestIsNoMajority() {
    JobStory story = running().nodeStops(NODE_C);
    story.owners.remove(JobStory.node(NODE_A));
    story.nodeLeaves(NODE_A).provesTermination(NODE_B).wait(100).is(JOB_STATE_RESTARTING);
    assertContains(story.job.getWaitingFor(), "a majority of the 2 nodes");
    story.quorumAccepted(NODE_B).is(JOB_STATE_RESERVING);
    assertEquals(1, story.job.getMembersCount());
  }

  @Test
  public void acceptedQuorumChangesNothingWhereNoMemberIsMissing() {
    JobStory story = running();
    Job before = story.job;
    assertEquals(before, story.quorumAccepted(NODE_A, NODE_B, NODE_C).job);
  }

  @Test
  public void jobWithoutQuorumContinuesOnTheRemainingNodes() {
    JobStory story = running(JobStory.mirrored().withSpec(spec -> spec.setQuorum(QUORUM_NONE)));
    story.owners.remove(JobStory.node(NODE_B));
    story
        .nodeLeaves(NODE_B)
        .nodeLeaves(NODE_C)
        .provesTermination(NODE_A)
        .wait(8)
        .is(JOB_STATE_RESERVING);
  }

  @Test
  public void failureThatALostNodeCausedIsNotCountedAsACrash() {
    JobStory story = running().crashes(ROLE_WORKER, 0);
    assertEquals(1, story.job.getCrashes());
    story.provesTermination(NODE_A);
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeLeaves(NODE_B);
    assertEquals(0, story.job.getCrashes());
    assertEquals(CAUSE_KIND_NODE_LEFT, story.attempt().getCauseKind());
    assertEquals("", story.job.getTraceback());
    story.wait(8).is(JOB_STATE_RESERVING);
  }

  @Test
  public void failureOfATaskWhoseDataMovedIsNotCountedAsACrash() {
    JobStory story =
        JobStory.mirrored().withSpec(spec -> spec.setMaxCrashes(0)).observe().startAndRun();
    story.mapChanges().crashes(ROLE_WORKER, 0, "partition 0 is not primary on node aaaaaaaa");
    story.provesTermination(NODE_A, NODE_B).wait(1).is(JOB_STATE_RESTARTING);
    story.passes(1).dataMoves(NODE_C, 0).is(JOB_STATE_RESERVING);
    assertEquals(0, story.job.getCrashes());
    assertEquals(CAUSE_KIND_DATA_MOVED, story.ended.get(0).getCauseKind());
    assertEquals("", story.job.getTraceback());
  }

  @Test
  public void crashIsCountedWhenTheDataMoveOnlyLaterOrNotAtAll() {
    JobStory story =
        JobStory.mirrored().withSpec(spec -> spec.setMaxCrashes(1)).observe().startAndRun();
    story.crashes(ROLE_WORKER, 0).provesTermination(NODE_A, NODE_B);
    // The pause after a crash has begun by now.
    story.passes(6).dataMoves(NODE_C, 0);
    assertEquals(1, story.job.getCrashes());
    story.startAndRun().mapChanges().crashes(ROLE_WORKER, 0);
    story.provesTermination(NODE_A, NODE_B, NODE_C).wait(6).is(JOB_STATE_FAILED);
    assertEquals(2, story.job.getCrashes());
  }

  @Test
  public void crashLongAfterAnIgnoredMoveIsTheScripts() {
    for (int seconds : new int[] {3, 60}) {
      JobStory story =
          running(JobStory.mirrored().withSpec(spec -> spec.setOnJoin(ON_JOIN_IGNORE)));
      story.dataMoves(NODE_C, 0).wait(seconds).is(JOB_STATE_RUNNING);
      story.crashes(ROLE_WORKER, 0).provesTermination(NODE_A, NODE_B).wait(8);
      assertEquals(seconds == 3 ? 0 : 1, story.job.getCrashes());
    }
  }

  @Test
  public void lostDataEndTheJobUnlessItAcceptsThat() {
    for (JobStory story :
        Arrays.asList(reserving(), starting(), running(), running().crashes(ROLE_WORKER, 0))) {
      story.partitionsAreLost(4, 7).is(JOB_STATE_ENDING);
      assertContains(story.job.getCause(), "data lost: 2 partitions of cache 'digits'");
      story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
    }
    assertEquals(JOB_STATE_FAILED, JobStory.mirrored().partitionsAreLost(1).job.getState());
    assertEquals(
        JOB_STATE_RUNNING,
        running()
            .withSpec(spec -> spec.setAllowDataLoss(true))
            .partitionsAreLost(4, 7)
            .job
            .getState());
  }

  @Test
  public void taskThatReadsLostDataEndsTheJobAndIsNotCountedAsACrash() {
    String extent = "b580aadd85c74373b66550a74c5d5caa";
    for (String error :
        Arrays.asList(
            "worker 0 exited with code 1: tensorflow_ignite.errors.DataLossError: worker 0 cannot",
            "worker 0 exited with code 1: tensorflow_ignite.errors.FileLostError: /a cannot be"
                + " read",
            "worker 0 exited with code 1: tensorflow.python.framework.errors_impl.DataLossError:"
                + (" /a cannot be read: Block 0 of extent " + extent + " is lost, and a file"))) {
      JobStory story = running().crashes(ROLE_WORKER, 0, error).is(JOB_STATE_RESTARTING);
      story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
      assertContains(story.job.getCause(), "data lost: worker 0 on node");
      assertContains(story.job.getCause(), error);
      assertEquals(0, story.job.getCrashes());
      assertEquals(CAUSE_KIND_DATA_LOST, story.attempt().getCauseKind());
      assertContains(story.job.getTraceback(), "Traceback");
    }
    String corrupt = "tensorflow.python.framework.errors_impl.DataLossError: corrupted record at 0";
    JobStory own = running().crashes(ROLE_WORKER, 0, corrupt);
    own.provesTermination(NODE_A, NODE_B).wait(2).is(JOB_STATE_RESERVING);
    assertEquals(1, own.job.getCrashes());
  }

  @Test
  public void rowsOnTooFewNodesEndTheJobWithTheAnswerAndAreNoCrash() {
    String error =
        "exited with code 1: tensorflow_ignite.errors.CacheEmptyError: worker 1 has no row of cache"
            + " 'digits' to repeat: rows a worker are [10, 0], and each needs at least one.";
    String peer = "exited with code 1: a.b.UnavailableError: connection reset by peer";
    JobStory story = running().crashes(ROLE_WORKER, 0, peer).crashes(ROLE_WORKER, 1, error);
    story.is(JOB_STATE_RESTARTING).provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "no rows: worker 1 on node");
    assertContains(story.job.getCause(), "rows a worker are [10, 0]");
    assertEquals(1, story.job.getAttemptsCount());
    assertEquals(0, story.job.getCrashes());
    assertEquals(CAUSE_KIND_NO_ROWS, story.attempt().getCauseKind());

    // Rows that moved away meanwhile may be there in the next attempt.
    JobStory moving = running().crashes(ROLE_WORKER, 1, error);
    moving.nodeLeaves(NODE_B).is(JOB_STATE_RESTARTING);
    assertEquals(CAUSE_KIND_NODE_LEFT, moving.attempt().getCauseKind());

    JobStory client = JobStory.parameterServer().observe().startAndRun();
    client.crashes(ROLE_CLIENT, 0, error);
    client.provesTermination(NODE_A, NODE_B, NODE_C).is(JOB_STATE_FAILED);
  }

  @Test
  public void aWorkerThatFinishedIsNamedWhereAnotherOneNoticesItsEnd() {
    TaskStatus.Builder finished = TaskStatus.newBuilder().setState(TASK_STATE_SUCCEEDED);
    String peer =
        "exited with code 1: tensorflow.python.framework.errors_impl.UnavailableError: Task"
            + " /job:worker/replica:0/task:0 has failed, got preempted, or crashed unexpectedly";
    JobStory story = running().meanwhile(ROLE_WORKER, 0, finished);
    story.crashes(ROLE_WORKER, 1, peer).is(JOB_STATE_RESTARTING);
    assertContains(
        story.attempt().getCause(),
        "; it may have waited for worker 0, which had ended with exit code 0");

    JobStory own = running().meanwhile(ROLE_WORKER, 0, finished);
    own.crashes(ROLE_WORKER, 1, "exited with code 1: ValueError: a row");
    assertEquals(-1, own.attempt().getCause().indexOf("waited"));
  }

  @Test
  public void aWorkerThatFinishedNeedsItsNodeNoMore() {
    JobStory story = running().task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.nodeLeaves(NODE_B).is(JOB_STATE_RUNNING);
    // The copies of its partitions are the primary ones now.
    story.owners.remove(JobStory.node(NODE_B));
    story.dataMoves(NODE_A, 0, 1, 2, 3).wait(60).is(JOB_STATE_RUNNING);
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    story.provesTermination(NODE_A).wait(8).is(JOB_STATE_SUCCEEDED);
    assertEquals(1, story.job.getAttemptsCount());

    JobStory server = JobStory.parameterServer().observe().startAndRun();
    server.meanwhile(ROLE_PS, 0, TaskStatus.newBuilder().setState(TASK_STATE_SUCCEEDED));
    server.nodeLeaves(server.find(ROLE_PS, 0).getNodeId()).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void attemptThatReadsLostDataWhenItsNodeLeavesIsRestarted() {
    String error = "tensorflow_ignite.errors.FileLostError: /a cannot be read";
    JobStory story = running().crashes(ROLE_WORKER, 0, error).provesTermination(NODE_A);
    story.owners.remove(JobStory.node(NODE_B));
    story.nodeLeaves(NODE_B);
    assertEquals(CAUSE_KIND_NODE_LEFT, story.attempt().getCauseKind());
    story.wait(8).is(JOB_STATE_RESERVING);
  }

  @Test
  public void clientThatReadsLostDataIsNotReplaced() {
    JobStory story = JobStory.parameterServer().observe().startAndRun();
    story.crashes(ROLE_CLIENT, 0, "tensorflow_ignite.errors.FileLostError: /a cannot be read");
    story.provesTermination(NODE_A, NODE_B, NODE_C).is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "data lost: ");
  }

  @Test
  public void tasksFollowTheirDataAfterAQuietTime() {
    for (JobStory story : Arrays.asList(reserving(), starting(), running())) {
      story.dataMoves(NODE_A, 0);
      story.wait(4).dataMoves(NODE_A, 2);
      assertNotEquals(JOB_STATE_RESTARTING, story.job.getState());
      story.wait(4);
      assertNotEquals(
          "the second move began a new quiet time", JOB_STATE_RESTARTING, story.job.getState());
      story.wait(1).is(JOB_STATE_RESTARTING);
      assertEquals(CAUSE_KIND_DATA_MOVED, story.attempt().getCauseKind());
      story.provesTermination(NODE_A, NODE_B);
      assertEquals(2, story.attempt().getNumber());
    }
  }

  @Test
  public void revertedMoveHasNoEffect() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(3);
    story.dataMoves(NODE_A, 0, 2).wait(100).is(JOB_STATE_RUNNING);
  }

  @Test
  public void moveIsIgnoredOrAwaitsACheckpointIfTheJobSaysSo() {
    JobStory ignoring =
        running(JobStory.mirrored().withSpec(spec -> spec.setOnJoin(ON_JOIN_IGNORE)));
    assertEquals(JOB_STATE_RUNNING, ignoring.dataMoves(NODE_A, 0).wait(1000).job.getState());

    JobStory patient =
        running(JobStory.mirrored().withSpec(spec -> spec.setOnJoin(ON_JOIN_AT_CHECKPOINT)));
    patient.task(ROLE_WORKER, 0, checkpointAt(10)).dataMoves(NODE_A, 0).wait(1000);
    assertEquals(JOB_STATE_RUNNING, patient.job.getState());
    patient.task(ROLE_WORKER, 0, checkpointAt(20));
    assertEquals(JOB_STATE_RESTARTING, patient.job.getState());
  }

  @Test
  public void restartWithoutAPlacementFailsAfterTheWaitTimeout() {
    JobStory story = running().crashes(ROLE_WORKER, 0).provesTermination(NODE_A, NODE_B);
    story.passes(2).observe(PlacementResult.waitFor("3 workers (min_workers=3)"));
    assertEquals("3 workers (min_workers=3)", story.job.getWaitingFor());
    story
        .passes(600)
        .observe(PlacementResult.waitFor("3 workers (min_workers=3)"))
        .is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "min_workers=3");
  }

  @Test
  public void restartWithoutItsCacheFails() {
    JobStory story = running().crashes(ROLE_WORKER, 0).provesTermination(NODE_A, NODE_B).passes(2);
    story
        .observe(PlacementResult.impossible("cache 'digits' does not exist any more"))
        .is(JOB_STATE_FAILED);
    assertContains(story.job.getCause(), "does not exist any more");
  }

  @Test
  public void shortScriptMaySucceedBeforeItWasObservedRunning() {
    JobStory story = starting().all(TASK_STATE_SUCCEEDED);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void parameterServerJobSucceedsWithItsClientAlone() {
    JobStory story = running(JobStory.parameterServer());
    story.task(ROLE_CLIENT, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void workerOrClientOfAParameterServerJobIsReplacedInPlace() {
    for (Role role : new Role[] {ROLE_WORKER, ROLE_CLIENT}) {
      JobStory story = running(JobStory.parameterServer());
      story.crashes(role, 0).is(JOB_STATE_RUNNING);
      assertEquals(1, story.attempt().getNumber());
      assertEquals(1, story.find(role, 0).getIncarnation());
      assertEquals(TASK_STATE_RESERVED, story.find(role, 0).getStatus().getState());
      story.observe();
      assertEquals(
          "the report of the first incarnation says nothing of the second",
          TASK_STATE_RESERVED,
          story.find(role, 0).getStatus().getState());
      assertContains(history(story), "crashes (1) <= max_crashes (3)");
    }
  }

  @Test
  public void aWorkerThatPredictsIsReplacedAloneAlsoWhenAnotherHasFinished() {
    JobStory story = running(JobStory.predict());
    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED).is(JOB_STATE_RUNNING);
    story.crashes(ROLE_WORKER, 0).is(JOB_STATE_RUNNING);
    assertEquals(1, story.attempt().getNumber());
    assertEquals(1, story.find(ROLE_WORKER, 0).getIncarnation());
    assertEquals(0, story.find(ROLE_WORKER, 1).getIncarnation());
    assertEquals(TASK_STATE_SUCCEEDED, story.find(ROLE_WORKER, 1).getStatus().getState());
  }

  @Test
  public void aReplacedTaskLeavesItsTracebackInTheJobAlsoIfItsNodeFailed() {
    for (boolean nodeFailed : new boolean[] {false, true}) {
      JobStory story = running(JobStory.parameterServer());
      story
          .task(
              ROLE_WORKER,
              0,
              failedAt(1_000, "killed").setNodeFailed(nodeFailed).setTraceback("its last lines"))
          .is(JOB_STATE_RUNNING);
      assertEquals(1, story.find(ROLE_WORKER, 0).getIncarnation());
      assertEquals("its last lines", story.job.getTraceback());
      assertEquals(nodeFailed ? 1 : 0, story.job.getNodeFailures());
      assertEquals(nodeFailed ? 0 : 1, story.job.getCrashes());
    }
  }

  @Test
  public void taskThatEndedWithItsAgentIsNotReplacedSinceItsPortIsLost() {
    JobStory story = running(JobStory.parameterServer());
    story
        .task(ROLE_WORKER, 0, failedAt(1_000, "its agent ended").setAgentLost(true))
        .is(JOB_STATE_RESTARTING);
  }

  @Test
  public void replacementsCountAsCrashes() {
    JobStory story =
        running(JobStory.parameterServer().withSpec(spec -> spec.setMaxCrashes(1)))
            .crashes(ROLE_WORKER, 0)
            .crashes(ROLE_WORKER, 0);
    assertEquals(JOB_STATE_RESTARTING, story.job.getState());
    story.provesTermination(NODE_A, NODE_B).is(JOB_STATE_FAILED);
  }

  @Test
  public void lostParameterServerRestartsTheAttemptWhateverItsExitCode() {
    JobStory story = running(JobStory.parameterServer());
    story.meanwhile(ROLE_WORKER, 0, failedAt(1_000, "lost its ps"));
    story.task(ROLE_PS, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void outcomeIsDecidedOnce() {
    JobStory story = running().all(TASK_STATE_SUCCEEDED);
    story
        .stopRequested()
        .nodeLeaves(NODE_A)
        .provesTermination(NODE_B)
        .wait(8)
        .is(JOB_STATE_SUCCEEDED);
  }

  @Test
  public void jobInAFinalStateNeverChanges() {
    Job over = running().all(TASK_STATE_SUCCEEDED).provesTermination(NODE_A, NODE_B).job;
    JobStory story = running().all(TASK_STATE_SUCCEEDED).provesTermination(NODE_A, NODE_B);
    assertEquals(
        over.getState(), story.nodeLeaves(NODE_A).nodeLeaves(NODE_B).wait(1000).job.getState());
    assertEquals(over.getAttemptsCount(), story.job.getAttemptsCount());
    assertEquals(over.getEventsList(), story.job.getEventsList());
  }

  @Test
  public void eventsAreNumberedFromOneAndKeepTheirNumbersWhenOlderOnesAreRemoved() {
    Job job = running().job;
    assertEquals(1, job.getEvents(0).getNumber());
    long newest = job.getEvents(job.getEventsCount() - 1).getNumber();
    for (int i = 0; i < 600; i++) {
      job =
          JobMachine.apply(
              job, JobEvent.of(JobEvent.Type.HEALTHY), Timestamps.fromMillis(2_000_000));
    }
    assertEquals(500, job.getEventsCount());
    long number = newest + 600 - 499;
    for (Event event : job.getEventsList()) {
      assertEquals(number++, event.getNumber());
    }
  }

  @Test
  public void eventWithoutATransitionIsRejectedWithTheHistory() {
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
    return JobStory.mirrored().observe();
  }

  private static JobStory starting() {
    return reserving().all(TASK_STATE_RESERVED);
  }

  private static JobStory running() {
    return running(JobStory.mirrored());
  }

  private static JobStory running(JobStory story) {
    return story.observe().startAndRun();
  }

  private static TaskStatus.Builder failedAt(long millis, String error) {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_FAILED)
        .setExitCode(1)
        .setError(error)
        .setFinishedAt(Timestamps.fromMillis(millis));
  }

  private static TaskStatus.Builder checkpointAt(long step) {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_RUNNING)
        .setProgress(Progress.newBuilder().setStep(step).setCheckpointStep(step));
  }

  private static String history(JobStory story) {
    return story.events().stream().map(event -> event.getText()).collect(Collectors.joining("\n"));
  }

  private static void assertContains(String text, String part) {
    assertTrue(text, text.contains(part));
  }
}
