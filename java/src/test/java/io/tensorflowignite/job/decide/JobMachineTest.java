package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobStory.NODE_A;
import static io.tensorflowignite.job.decide.JobStory.NODE_B;
import static io.tensorflowignite.job.decide.JobStory.NODE_C;
import static io.tensorflowignite.job.decide.JobStory.active;
import static io.tensorflowignite.job.decide.JobStory.failed;
import static io.tensorflowignite.job.decide.JobStory.raised;
import static io.tensorflowignite.job.decide.JobStory.reserving;
import static io.tensorflowignite.job.decide.JobStory.running;
import static io.tensorflowignite.job.decide.JobStory.starting;
import static io.tensorflowignite.job.decide.JobStory.status;
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
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_START_TIMEOUT;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_DATA_LOST;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_NO_ROWS;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_PEER;
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
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_LOST;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Evaluator;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskStatus;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.AfterClass;
import org.junit.Test;

/**
 * The states of a job: what leads from each one to the next.
 *
 * <p>Promise (jobs): A job stopped by force is final within the time of a proof, every other one
 * after its wait timeout.
 *
 * <p>Promise (jobs): A task that fails because rows are lost, or are on too few nodes, is no crash,
 * and its job ends.
 */
public class JobMachineTest {
  @AfterClass
  public static void everyTransitionIsExercised() {
    Set<String> missed =
        JobMachine.table().stream().map(Object::toString).collect(Collectors.toSet());
    missed.removeAll(JobStory.EXERCISED);
    assertTrue("transitions that no test exercises: " + missed, missed.isEmpty());
  }

  @Test
  public void theTableHasOneTransitionForEachStateAndEventAndNoneFromFinalStates() {
    for (JobMachine.Transition present : JobMachine.table()) {
      JobState to = present.from == JOB_STATE_ENDING ? present.to : JOB_STATE_PENDING;
      assertRefused("A state has one transition for each event", present.from, present.event, to);
    }
    for (JobState state : List.of(JOB_STATE_SUCCEEDED, JOB_STATE_FAILED, JOB_STATE_STOPPED)) {
      for (JobEvent.Type event : JobEvent.Type.values()) {
        assertRefused("A final state has no transitions", state, event, JOB_STATE_PENDING);
      }
    }
  }

  private static void assertRefused(String rule, JobState from, JobEvent.Type event, JobState to) {
    int size = JobMachine.table().size();
    Exception refusal =
        assertThrows(
            IllegalArgumentException.class, () -> JobMachine.add(from, event, to, job -> {}));
    assertTrue(refusal.getMessage(), refusal.getMessage().contains(rule));
    assertEquals(size, JobMachine.table().size());
  }

  @Test
  public void eventWithoutATransitionIsRejectedWithTheHistory() {
    JobEvent event = JobEvent.because(JobEvent.Type.TASKS_RUNNING, "");
    Job pending = JobStory.mirrored().job;
    Exception refusal =
        assertThrows(
            IllegalStateException.class,
            () -> JobMachine.apply(pending, event, Timestamps.fromMillis(0)));
    String text = refusal.getMessage();
    assertTrue(text, text.contains("[job=7f3a0000, state=PENDING"));
  }

  @Test
  public void jobRunsInTwoPhasesAndSucceedsOnceItsTasksHaveTerminated() {
    JobStory story = JobStory.mirrored().observe().is(JOB_STATE_RESERVING);
    assertEquals(ATTEMPT_PHASE_RESERVE, story.attempt().getPhase());

    story.task(ROLE_WORKER, 0, TASK_STATE_RESERVED).is(JOB_STATE_RESERVING);

    story.task(ROLE_WORKER, 1, TASK_STATE_RESERVED).is(JOB_STATE_STARTING);
    assertEquals(ATTEMPT_PHASE_RUN, story.attempt().getPhase());
    story.waitsFor("worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb");

    story.all(TASK_STATE_RUNNING).is(JOB_STATE_RUNNING);

    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_RUNNING);

    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    assertEquals(ATTEMPT_PHASE_STOP, story.attempt().getPhase());

    story.provesTermination(NODE_A).is(JOB_STATE_ENDING);

    story.provesTermination(NODE_B).is(JOB_STATE_SUCCEEDED);
    assertEquals(0, story.job.getExitCode());
    assertTrue(story.job.hasFinishedAt());

    JobStory fast = starting().all(TASK_STATE_SUCCEEDED);
    assertEquals("it was never observed running", JOB_STATE_SUCCEEDED, fast.job.getOutcome());
  }

  @Test
  public void aPlacementIsAwaitedUntilTheWaitTimeoutAndAnImpossibleOneFailsTheJob() {
    PlacementResult missing = PlacementResult.waitFor("an owner of partition 3");
    JobStory waiting = JobStory.mirrored().observe(missing).is(JOB_STATE_PENDING);
    waiting.waitsFor("an owner of partition 3").passes(601).observe(missing).is(JOB_STATE_FAILED);
    waiting.cause("wait timeout 600 s) for an owner of partition 3");
    JobStory restarting = running().crashes(ROLE_WORKER, 0).terminates().passes(2).observe(missing);
    restarting.waitsFor("an owner of partition 3").passes(600).observe(missing);
    restarting.is(JOB_STATE_FAILED).cause("an owner of partition 3");

    PlacementResult impossible = PlacementResult.impossible("the cache is gone");
    JobStory failed = JobStory.mirrored().observe(impossible).is(JOB_STATE_FAILED);
    assertEquals("the cache is gone", failed.job.getCause());
    assertEquals(1, failed.job.getExitCode());
    running().crashes(ROLE_WORKER, 0).terminates().passes(2).observe(impossible).cause("is gone");
  }

  @Test
  public void jobIsStoppedOnlyWhenItsTasksHaveTerminated() {
    JobStory unplaced = JobStory.mirrored().stopRequested().is(JOB_STATE_STOPPED);
    assertEquals(130, unplaced.job.getExitCode());
    for (JobStory story :
        List.of(reserving(), starting(), running(), running().crashes(ROLE_WORKER, 0))) {
      story.stopRequested().is(JOB_STATE_ENDING);
      story.waitsFor("proof that its tasks have terminated: node aaaaaaaa, node bbbbbbbb");
      story.terminates().is(JOB_STATE_STOPPED);
      assertEquals(130, story.job.getExitCode());
    }
  }

  @Test
  public void stopByForceEndsAJobWhoseEndIsNotProvenInTheTimeOfAProof() {
    JobStory story = starting();
    for (int index = 0; index < 2; index++) {
      story.task(ROLE_WORKER, index, status(TASK_STATE_RUNNING).setPid(100 + index));
    }
    story.stopRequested().provesTermination(NODE_A).wait(26).is(JOB_STATE_ENDING);
    story.waitsFor("proof that its tasks have terminated: node bbbbbbbb").wait(1);
    story.is(JOB_STATE_ENDING);
    story.waitsFor(
        "proof that its tasks have terminated: node bbbbbbbb (pids 101). A node proves it within 27"
            + " s (stop grace, two leases and 10 s), and the wait timeout ends the job. End these"
            + " processes, or start the node again; or end the job now: tensorflow-ignite stop"
            + " --force 7f3a0000");

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

    JobStory proven = running().forceStopRequested().is(JOB_STATE_ENDING).wait(26);
    proven.terminates().is(JOB_STATE_STOPPED);
    assertEquals("stopped on request", proven.job.getCause());
    assertEquals(0, proven.attempt().getUnprovenNodeIdsCount());
  }

  @Test
  public void jobWhoseEndIsNotProvenEndsWithItsOutcomeAfterTheWaitTimeout() {
    JobStory succeeded = running().all(TASK_STATE_SUCCEEDED).provesTermination(NODE_A);
    succeeded.wait(599).is(JOB_STATE_ENDING).wait(1).is(JOB_STATE_SUCCEEDED);
    assertEquals("", succeeded.job.getCause());
    assertEquals(List.of(NODE_B), succeeded.attempt().getUnprovenNodeIdsList());
    succeeded.history("processes of attempt 1 may still run on node bbbbbbbb:");

    JobStory failed = running().partitionsAreLost(3).wait(600).is(JOB_STATE_FAILED);
    failed.cause("data lost: 1 partitions").cause("(wait timeout 600 s)");
    failed.cause("may still run on node aaaaaaaa, node bbbbbbbb: their end");

    running().stopRequested().wait(600).is(JOB_STATE_STOPPED);
  }

  @Test
  public void jobThatRestartsFailsWhenTheEndOfItsAttemptIsNotProvenWithinTheWaitTimeout() {
    JobStory story = running().crashes(ROLE_WORKER, 1).provesTermination(NODE_B);
    story.wait(599).is(JOB_STATE_RESTARTING);
    String waits = story.job.getWaitingFor();
    assertTrue(waits, waits.contains("tensorflow-ignite stop --force 7f3a0000"));
    story.wait(1).is(JOB_STATE_FAILED);
    story.cause("processes of attempt 1 may still run on node aaaaaaaa");
    assertEquals(List.of(NODE_A), story.attempt().getUnprovenNodeIdsList());
    assertEquals(3, story.job.getExitCode());

    JobStory shortWait =
        running(spec -> spec.getTimeoutsBuilder().setWait(Durations.fromSeconds(1)));
    shortWait.crashes(ROLE_WORKER, 1).wait(26).is(JOB_STATE_RESTARTING);
    shortWait.wait(1).is(JOB_STATE_FAILED);
  }

  @Test
  public void outcomeIsDecidedOnceAndAFinalStateNeverChanges() {
    JobStory story = running().all(TASK_STATE_SUCCEEDED).stopRequested().nodeLeaves(NODE_A);
    story.provesTermination(NODE_B).wait(8).is(JOB_STATE_SUCCEEDED);
    Job over = story.job;
    assertEquals(over, story.nodeLeaves(NODE_B).wait(1000).job);
  }

  @Test
  public void crashRestartsTheJobAfterTheEndOfItsTasksAndABackOff() {
    for (JobStory story : active()) {
      story.crashes(ROLE_WORKER, 1).is(JOB_STATE_RESTARTING).counts(1, 0);
      assertEquals(ATTEMPT_PHASE_STOP, story.attempt().getPhase());
      story.terminates().waitsFor("the pause after crash 1 to end").wait(1);
      story.is(JOB_STATE_RESERVING).history("crash 1, max_crashes 3");
      assertEquals(2, story.attempt().getNumber());
      assertEquals(CAUSE_KIND_CRASH, story.ended.get(0).getCauseKind());
      assertTrue(story.ended.get(0).hasFinishedAt());
    }
  }

  @Test
  public void anAttemptWhoseNodeAsksForItsEndMakesWayForTheNextInEachActiveState() {
    for (JobStory story : active()) {
      TaskStatus.Builder status = story.find(ROLE_WORKER, 0).getStatus().toBuilder();
      story.task(ROLE_WORKER, 0, status.setEndRequested("is being stopped"));
      story.is(JOB_STATE_RESTARTING);
      story.attemptCause(CAUSE_KIND_PLANNED, "node aaaaaaaa with worker 0 is being stopped");
      story.terminates().is(JOB_STATE_RESERVING).counts(0, 0);
    }
    JobStory saving =
        running().worker(0, 0, false, 0).worker(1, 0, false, 0).stopWithSaveRequested();
    saving.is(JOB_STATE_RUNNING).worker(0, 8, true, 8).worker(1, 8, true, 0).is(JOB_STATE_ENDING);
  }

  @Test
  public void aNodeThatFailsIsNoCrashOfTheScriptAndTheNextAttemptHasItsOwnReports() {
    for (JobStory story : active()) {
      story.nodeFails(NODE_A, "no port").is(JOB_STATE_RESTARTING).counts(0, 1);
      story.attemptCause(CAUSE_KIND_NODE_FAILED);
      story.terminates().wait(1).is(JOB_STATE_RESERVING);
      assertEquals(2, story.attempt().getNumber());
    }
    TaskStatus.Builder endedByNode = failed("its agent (pid 7) ended").setNodeFailed(true);
    JobStory story = running().task(ROLE_WORKER, 0, endedByNode).is(JOB_STATE_RESTARTING);
    story.attemptCause(CAUSE_KIND_NODE_FAILED);
    story.terminates().wait(1).startAndRun().wait(300).counts(0, 0);

    JobStory later =
        running().crashes(ROLE_WORKER, 1, raised(FAILURE_KIND_PEER, "a.UnavailableError", ""));
    later.counts(1, 0).task(ROLE_WORKER, 0, endedByNode).counts(0, 1);
    later.attemptCause(CAUSE_KIND_NODE_FAILED);
    later.history("not counted as a crash, since worker 0");
    later.history("attempt 1 ended (failure 1 of nodes, limit 5 in a row)");
    later.terminates().wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void lostNodeRestartsTheJobOnTheRemainingNodesWithoutLimit() {
    for (JobStory story : active()) {
      story
          .withSpec(spec -> spec.getRestartBuilder().setMaxCrashes(0))
          .nodeIsLost(NODE_B)
          .is(JOB_STATE_RESTARTING);
      assertEquals(TASK_STATE_LOST, story.find(ROLE_WORKER, 1).getStatus().getState());
      // Its tasks may go on until the lease ends.
      story.provesTermination(NODE_A).is(JOB_STATE_RESTARTING).wait(7).is(JOB_STATE_RESTARTING);
      story.wait(1).is(JOB_STATE_RESERVING).counts(0, 0);
      assertEquals(1, story.attempt().getTasksCount());
      assertEquals(CAUSE_KIND_NODE_LEFT, story.ended.get(0).getCauseKind());
    }
  }

  @Test
  public void startTimeoutIsAFailureOfNodesThatNamesTheMissingTasks() {
    JobStory story =
        reserving().task(ROLE_WORKER, 0, TASK_STATE_RESERVED).wait(121).is(JOB_STATE_RESTARTING);
    story.attemptCause(
        CAUSE_KIND_START_TIMEOUT, "missing: worker 0 on node aaaaaaaa, worker 1 on node bbbbbbbb");
    starting().wait(121).counts(0, 1).attemptCause(CAUSE_KIND_START_TIMEOUT, "timeout 120 s");
  }

  @Test
  public void eachStartTimeoutInARowGivesTwiceTheTimeUpToEightTimes() {
    JobStory story = reserving();
    for (int seconds : new int[] {120, 240, 480, 960, 960}) {
      story.wait(seconds - 1).is(JOB_STATE_RESERVING).wait(1).is(JOB_STATE_RESTARTING);
      story.terminates().wait(30);
    }
    story.is(JOB_STATE_FAILED);
  }

  @Test
  public void lostDataEndTheJobUnlessItAcceptsThat() {
    for (JobStory story :
        List.of(reserving(), starting(), running(), running().crashes(ROLE_WORKER, 0))) {
      story.partitionsAreLost(4, 7).is(JOB_STATE_ENDING);
      story.cause("data lost: 2 partitions of cache 'digits'").terminates().is(JOB_STATE_FAILED);
    }
    JobStory.mirrored().partitionsAreLost(1).is(JOB_STATE_FAILED);
    running(spec -> spec.getRestartBuilder().setAllowDataLoss(true))
        .partitionsAreLost(4, 7)
        .is(JOB_STATE_RUNNING);
  }

  @Test
  public void taskThatReadsLostDataEndsTheJobAndIsNotCountedAsACrash() {
    TaskStatus.Builder lost = raised(FAILURE_KIND_DATA_LOST, "a.FileLostError", "/a is lost");
    JobStory story = running().crashes(ROLE_WORKER, 0, lost).is(JOB_STATE_RESTARTING);
    story.terminates().is(JOB_STATE_FAILED).counts(0, 0).attemptCause(CAUSE_KIND_DATA_LOST);
    story.cause("data lost: worker 0 on node").cause("a.FileLostError: /a is lost");
    assertTrue(story.job.getTraceback(), story.job.getTraceback().contains("Traceback"));

    JobStory client = JobStory.parameterServer().runs().crashes(ROLE_CLIENT, 0, lost);
    client.provesTermination(NODE_A, NODE_B, NODE_C).is(JOB_STATE_FAILED);
    client.cause("data lost: ");
    JobStory left = running().crashes(ROLE_WORKER, 0, lost).provesTermination(NODE_A);
    left.nodeIsLost(NODE_B).attemptCause(CAUSE_KIND_NODE_LEFT).wait(8).is(JOB_STATE_RESERVING);
  }

  @Test
  public void rowsOnTooFewNodesEndTheJobWithTheAnswerAndAreNoCrash() {
    TaskStatus.Builder error =
        raised(FAILURE_KIND_NO_ROWS, "a.CacheEmptyError", "rows a worker are [10, 0]");
    JobStory story =
        running()
            .crashes(ROLE_WORKER, 0, raised(FAILURE_KIND_PEER, "a.UnavailableError", ""))
            .crashes(ROLE_WORKER, 1, error);
    story.is(JOB_STATE_RESTARTING).terminates().is(JOB_STATE_FAILED).counts(0, 0);
    story.cause("no rows: worker 1 on node").cause("rows a worker are [10, 0]");
    story.attemptCause(CAUSE_KIND_NO_ROWS);
    assertEquals(1, story.job.getAttemptsCount());

    // Rows that moved away meanwhile may be there in the next attempt.
    JobStory moving = running().crashes(ROLE_WORKER, 1, error).nodeLeaves(NODE_B);
    moving.is(JOB_STATE_RESTARTING).attemptCause(CAUSE_KIND_NODE_LEFT);

    JobStory client = JobStory.parameterServer().runs().crashes(ROLE_CLIENT, 0, error);
    client.provesTermination(NODE_A, NODE_B, NODE_C).is(JOB_STATE_FAILED);
  }

  @Test
  public void tasksFollowTheirDataAfterAQuietTime() {
    for (JobStory story : active()) {
      JobState before = story.job.getState();
      story.dataMoves(NODE_A, 0).wait(4).dataMoves(NODE_A, 2).is(before);
      // The second move began a new quiet time.
      story.wait(4).is(before).wait(1).is(JOB_STATE_RESTARTING);
      story.attemptCause(CAUSE_KIND_DATA_MOVED).terminates();
      assertEquals(2, story.attempt().getNumber());
    }
    JobStory reverted = running().dataMoves(NODE_A, 0).wait(3);
    reverted.dataMoves(NODE_A, 0, 2).wait(100).is(JOB_STATE_RUNNING);
  }

  @Test
  public void moveIsIgnoredOrAwaitsACheckpointIfTheJobSaysSo() {
    JobStory ignoring = running(spec -> spec.getRestartBuilder().setOnJoin(ON_JOIN_IGNORE));
    ignoring.dataMoves(NODE_A, 0).wait(1000).is(JOB_STATE_RUNNING);

    JobStory patient = running(spec -> spec.getRestartBuilder().setOnJoin(ON_JOIN_AT_CHECKPOINT));
    patient.task(ROLE_WORKER, 0, checkpointAt(10)).dataMoves(NODE_A, 0).wait(1000);
    patient.is(JOB_STATE_RUNNING);
    patient.task(ROLE_WORKER, 0, checkpointAt(20)).is(JOB_STATE_RESTARTING);
  }

  private static TaskStatus.Builder checkpointAt(long step) {
    return status(TASK_STATE_RUNNING)
        .setProgress(Progress.newBuilder().setStep(step).setCheckpointStep(step));
  }

  @Test
  public void aCrashIsNotCountedWhenItsDataMovedAndItIsWhenTheyMoveOnlyLater() {
    JobStory story = running(spec -> spec.getRestartBuilder().setMaxCrashes(0)).mapChanges();
    story.crashes(ROLE_WORKER, 0, failed("partition 0 is not primary")).terminates();
    story.wait(1).is(JOB_STATE_RESTARTING).passes(1).dataMoves(NODE_C, 0).is(JOB_STATE_RESERVING);
    assertEquals(CAUSE_KIND_DATA_MOVED, story.counts(0, 0).ended.get(0).getCauseKind());
    assertEquals("", story.job.getTraceback());

    JobStory late =
        running(spec -> spec.getRestartBuilder().setMaxCrashes(1))
            .crashes(ROLE_WORKER, 0)
            .terminates();
    // The pause after a crash has begun by now.
    late.passes(6).dataMoves(NODE_C, 0).counts(1, 0);
    late.startAndRun().mapChanges().crashes(ROLE_WORKER, 0);
    late.provesTermination(NODE_A, NODE_B, NODE_C).wait(6).is(JOB_STATE_FAILED).counts(2, 0);

    for (int seconds : new int[] {3, 60}) {
      JobStory ignoring = running(spec -> spec.getRestartBuilder().setOnJoin(ON_JOIN_IGNORE));
      ignoring.dataMoves(NODE_C, 0).wait(seconds).is(JOB_STATE_RUNNING);
      ignoring.crashes(ROLE_WORKER, 0).terminates().wait(8).counts(seconds == 3 ? 0 : 1, 0);
    }
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

      JobStory left = running().nodeIsLost(NODE_B).clockIsSet(jump).provesTermination(NODE_A);
      left.is(JOB_STATE_RESTARTING).wait(8).is(JOB_STATE_RESERVING);

      JobStory crashed = running().crashes(ROLE_WORKER, 0).clockIsSet(jump).terminates();
      crashed.is(JOB_STATE_RESTARTING).wait(1).is(JOB_STATE_RESERVING);
    }
  }

  @Test
  public void timersBeginAnewWhenAnotherNodeTakesTheServiceOver() {
    starting().wait(100).serviceMoves(600).wait(100).is(JOB_STATE_STARTING).wait(20);

    JobStory left = running().nodeIsLost(NODE_B).provesTermination(NODE_A).wait(5);
    left.serviceMoves(600).wait(7).is(JOB_STATE_RESTARTING).wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void aWorkerThatFinishedNeedsItsNodeNoMore() {
    JobStory story = running().task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.nodeIsLost(NODE_B).is(JOB_STATE_RUNNING);
    // The copies of its partitions are the primary ones now.
    story.dataMoves(NODE_A, 0, 1, 2, 3).wait(60).is(JOB_STATE_RUNNING);
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    story.provesTermination(NODE_A).wait(8).is(JOB_STATE_SUCCEEDED);
    assertEquals(1, story.job.getAttemptsCount());

    JobStory server = JobStory.parameterServer().runs();
    server.meanwhile(ROLE_PS, 0, status(TASK_STATE_SUCCEEDED));
    server.nodeLeaves(server.find(ROLE_PS, 0).getNodeId()).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void parameterServerJobEndsWithItsClientAndRestartsWithItsServer() {
    JobStory client = JobStory.parameterServer().runs();
    client.task(ROLE_CLIENT, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, client.job.getOutcome());

    JobStory server = JobStory.parameterServer().runs();
    server.meanwhile(ROLE_WORKER, 0, failed("lost its ps"));
    server.task(ROLE_PS, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void workerOrClientOfAParameterServerJobIsReplacedInPlace() {
    for (Role role : new Role[] {ROLE_WORKER, ROLE_CLIENT}) {
      JobStory story = JobStory.parameterServer().runs().crashes(role, 0).is(JOB_STATE_RUNNING);
      // The report of the first incarnation says nothing of the second.
      story.observe().history("crashes (1) <= max_crashes (3)");
      assertEquals(1, story.attempt().getNumber());
      assertEquals(1, story.find(role, 0).getIncarnation());
      assertEquals(TASK_STATE_RESERVED, story.find(role, 0).getStatus().getState());
    }
    for (boolean nodeFailed : new boolean[] {false, true}) {
      TaskStatus.Builder killed = failed("killed").setTraceback("its last lines");
      JobStory story = JobStory.parameterServer().runs();
      story.task(ROLE_WORKER, 0, killed.setNodeFailed(nodeFailed)).is(JOB_STATE_RUNNING);
      assertEquals(1, story.find(ROLE_WORKER, 0).getIncarnation());
      assertEquals("its last lines", story.job.getTraceback());
      story.counts(nodeFailed ? 0 : 1, nodeFailed ? 1 : 0);
    }
    JobStory counted =
        JobStory.parameterServer()
            .withSpec(spec -> spec.getRestartBuilder().setMaxCrashes(1))
            .runs();
    counted.crashes(ROLE_WORKER, 0).crashes(ROLE_WORKER, 0).is(JOB_STATE_RESTARTING);
    counted.terminates().is(JOB_STATE_FAILED);
  }

  @Test
  public void aTaskIsNotReplacedWhereItsPortIsLostOrAServerMayBeTheCause() {
    JobStory portIsLost = JobStory.parameterServer().runs();
    portIsLost.task(ROLE_WORKER, 0, failed("its agent ended").setAgentLost(true));
    portIsLost.is(JOB_STATE_RESTARTING);
    JobStory stalled = JobStory.parameterServer().runs();
    stalled.task(ROLE_CLIENT, 0, failed("stalled").setStalled(true)).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void aWorkerThatPredictsIsReplacedAloneAlsoWhenAnotherHasFinished() {
    JobStory story = JobStory.predict().runs();
    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED).is(JOB_STATE_RUNNING);
    story.crashes(ROLE_WORKER, 0).is(JOB_STATE_RUNNING);
    assertEquals(1, story.attempt().getNumber());
    assertEquals(1, story.find(ROLE_WORKER, 0).getIncarnation());
    assertEquals(0, story.find(ROLE_WORKER, 1).getIncarnation());
    assertEquals(TASK_STATE_SUCCEEDED, story.find(ROLE_WORKER, 1).getStatus().getState());
  }

  @Test
  public void theTrainingGoesOnWithoutAnEvaluatorThatIsNotStartedAgain() {
    JobStory story = running(spec -> spec.setEvaluator(Evaluator.getDefaultInstance()));
    for (int incarnation = 0; incarnation <= 3; incarnation++) {
      story.crashes(ROLE_EVALUATOR, 0).is(JOB_STATE_RUNNING).counts(0, 0);
    }
    story.history("is not started again");
  }

  @Test
  public void eventsAreNumberedFromOneAndKeepTheirNumbersWhenOlderOnesAreRemoved() {
    Job job = running().job;
    assertEquals(1, job.getEvents(0).getNumber());
    long newest = job.getEvents(job.getEventsCount() - 1).getNumber();
    JobEvent healthy = JobEvent.because(JobEvent.Type.HEALTHY, "");
    for (int i = 0; i < 600; i++) {
      job = JobMachine.apply(job, healthy, Timestamps.fromMillis(2_000_000));
    }
    assertEquals(500, job.getEventsCount());
    long number = newest + 600 - 499;
    for (Event event : job.getEventsList()) {
      assertEquals(number++, event.getNumber());
    }
  }
}
