package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobStory.NODE_A;
import static io.tensorflowignite.job.decide.JobStory.NODE_B;
import static io.tensorflowignite.job.decide.JobStory.NODE_C;
import static io.tensorflowignite.job.decide.JobStory.atStep;
import static io.tensorflowignite.job.decide.JobStory.failed;
import static io.tensorflowignite.job.decide.JobStory.raised;
import static io.tensorflowignite.job.decide.JobStory.running;
import static io.tensorflowignite.job.decide.JobStory.starting;
import static io.tensorflowignite.job.decide.JobStory.status;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_LEFT;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_CLUSTER;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_MEMORY;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_PEER;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_SCRIPT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.Quorum.QUORUM_NONE;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.FailureKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.TaskStatus;
import java.time.Duration;
import java.util.List;
import org.junit.Test;

/**
 * How many restarts a job has, what counts as a crash, and what the next attempt waits for.
 *
 * <p>Promise (jobs): Restarts without progress are bounded, whatever their cause.
 */
public class JobRestartsTest {
  @Test
  public void crashesBeyondTheBudgetFailTheJobWithTracebackAndExitCode() {
    JobStory story =
        running(spec -> spec.getRestartBuilder().setMaxCrashes(1))
            .crashes(ROLE_WORKER, 1)
            .terminates();
    story.wait(1).startAndRun().crashes(ROLE_WORKER, 1).is(JOB_STATE_RESTARTING);
    story.terminates().is(JOB_STATE_FAILED);
    assertEquals(3, story.job.getExitCode());
    assertEquals("Traceback …\nValueError: no", story.job.getTraceback());
    assertEquals(
        "job 7f3a0000 was not restarted: 2 crashes exceed max_crashes=1; last: worker 1 on node"
            + " bbbbbbbb failed: exited with code 3 (ValueError: no). See: tensorflow-ignite logs"
            + " 7f3a0000 --attempt 2",
        story.job.getCause());
  }

  @Test
  public void aFirstCrashAfterAStepOrTenSecondsHasNoPauseAndLaterOnesHave() {
    JobStory story = running().all(atStep(40, 0)).crashes(ROLE_WORKER, 1);
    story.terminates().is(JOB_STATE_RESERVING).startAndRun().all(atStep(80, 40));
    story.crashes(ROLE_WORKER, 1).terminates().is(JOB_STATE_RESTARTING);
    story.waitsFor("the pause after crash 2 to end").wait(2).is(JOB_STATE_RESERVING);
    running().wait(9).crashes(ROLE_WORKER, 1).terminates().is(JOB_STATE_RESTARTING);
    running().wait(10).crashes(ROLE_WORKER, 1).terminates().is(JOB_STATE_RESERVING);

    assertEquals(Duration.ofSeconds(1), CrashBudget.backOff(1));
    assertEquals(Duration.ofSeconds(2), CrashBudget.backOff(2));
    assertEquals(Duration.ofSeconds(4), CrashBudget.backOff(3));
    assertEquals(Duration.ofSeconds(30), CrashBudget.backOff(100));
  }

  @Test
  public void healthyTimeResetsTheCrashCount() {
    JobStory story = running().crashes(ROLE_WORKER, 0).terminates().wait(1).startAndRun();
    story.counts(1, 0).wait(299).counts(1, 0).wait(1).counts(0, 0).is(JOB_STATE_RUNNING);
  }

  @Test
  public void fiveFailuresOfNodesInARowFailTheJob() {
    TaskStatus.Builder endedByNode = failed("its agent (pid 7) ended").setNodeFailed(true);
    JobStory story = running(spec -> spec.getRestartBuilder().setMaxCrashes(0));
    for (int failure = 1; failure <= 4; failure++) {
      story.task(ROLE_WORKER, 0, endedByNode).terminates();
      story.waitsFor("the pause after failure " + failure + " of nodes to end");
      story.wait(30).is(JOB_STATE_RESERVING).startAndRun();
    }
    story.task(ROLE_WORKER, 0, endedByNode).terminates().is(JOB_STATE_FAILED);
    story.cause("its nodes failed, or did not start its tasks in time, 5 times in a");
  }

  @Test
  public void restartsWithoutAStepBetweenThemAreBounded() {
    JobStory story = running(spec -> spec.getRestartBuilder().setMaxRestarts(3)).all(atStep(40, 0));
    for (int restart = 1; restart <= 3; restart++) {
      story.dataMoves(NODE_A, restart).wait(5).terminates();
      assertEquals(restart - 1, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun().all(atStep(40, 40));
    }
    story.dataMoves(NODE_A, 9).wait(5).terminates().startAndRun();
    story.nodeStops(NODE_B).provesTermination(NODE_A).wait(2).is(JOB_STATE_FAILED);
    story.cause(
        "4 restarts in a row without a further step exceed max_restarts=3; causes: node-left 1"
            + " times (last: node bbbbbbbb with worker 1 has left the cluster), data-moved 3 times"
            + " (last: the primary partitions of cache 'digits' moved");

    JobStory caused =
        running(spec -> spec.getRestartBuilder().setMaxRestarts(0)).crashes(ROLE_WORKER, 0);
    caused.nodeLeaves(NODE_B).counts(0, 0).provesTermination(NODE_A).wait(8).is(JOB_STATE_FAILED);
    caused.cause("1 restarts in a row without a further step");
  }

  @Test
  public void aStepOrAHealthyTimeEndsTheCountOfRestarts() {
    JobStory story = running(spec -> spec.getRestartBuilder().setMaxRestarts(1));
    for (int restart = 1; restart <= 5; restart++) {
      story.all(atStep(10 * restart, 10 * restart - 1));
      story.dataMoves(NODE_A, restart).wait(5).terminates();
      assertEquals(0, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun();
    }
    for (int restart = 6; restart <= 9; restart++) {
      story.dataMoves(NODE_A, restart).wait(5).terminates();
      assertEquals(1, story.job.getIdleRestarts());
      story.is(JOB_STATE_RESERVING).startAndRun().wait(300);
      assertEquals(0, story.job.getIdleRestarts());
    }
  }

  @Test
  public void theSameExceptionTwiceBeforeTheFirstStepFailsTheJobAndOthersAreRetried() {
    TaskStatus.Builder first = raised(FAILURE_KIND_SCRIPT, "KeyError", "'a'");
    crashesInTwoAttempts(first, first)
        .is(JOB_STATE_FAILED)
        .cause("raised the same exception 2 times in a row before the first step");
    for (TaskStatus.Builder other :
        List.of(
            raised(FAILURE_KIND_SCRIPT, "KeyError", "'b'"),
            raised(FAILURE_KIND_SCRIPT, "IndexError", "'a'"))) {
      crashesInTwoAttempts(first, other).is(JOB_STATE_RESERVING);
    }
    // The text is for people: without a known exception there is nothing to compare.
    TaskStatus.Builder unknown = failed("worker 0 exited with code 1: KeyError: 'a'");
    crashesInTwoAttempts(unknown, unknown).is(JOB_STATE_RESERVING);
    JobStory story = running();
    for (int attempt = 1; attempt <= 2; attempt++) {
      // Only the chief reports; it resumed from step 4 in each attempt.
      story.meanwhile(ROLE_WORKER, 0, atStep(5, 4)).crashes(ROLE_WORKER, 1, first).terminates();
      story.wait(2).is(JOB_STATE_RESERVING).startAndRun();
    }
  }

  @Test
  public void failuresThatMayPassAreRetriedInEachKindOfJob() {
    for (FailureKind mayPass :
        List.of(FAILURE_KIND_PEER, FAILURE_KIND_CLUSTER, FAILURE_KIND_MEMORY)) {
      TaskStatus.Builder error = raised(mayPass, "a.b.Error", "for now");
      crashesInTwoAttempts(error, error).is(JOB_STATE_RESERVING);
      JobStory prediction = JobStory.predict().runs();
      prediction.crashes(ROLE_WORKER, 0, error).is(JOB_STATE_RUNNING).startAndRun();
      prediction.crashes(ROLE_WORKER, 1, error).is(JOB_STATE_RUNNING);
    }
  }

  @Test
  public void theSameExceptionTwiceFailsAPredictionHoweverManyRowsArePredicted() {
    JobStory story = JobStory.predict().runs();
    TaskStatus.Builder error = raised(FAILURE_KIND_SCRIPT, "ValueError", "a row");
    story.meanwhile(ROLE_WORKER, 1, atStep(900, 0));
    story.crashes(ROLE_WORKER, 0, error).is(JOB_STATE_RUNNING).startAndRun();
    story.meanwhile(ROLE_WORKER, 0, atStep(5, 0));
    story.crashes(ROLE_WORKER, 0, error).terminates().is(JOB_STATE_FAILED);
    story.cause("raised the same exception 2 times in a row; last:");
  }

  private static JobStory crashesInTwoAttempts(
      TaskStatus.Builder first, TaskStatus.Builder second) {
    JobStory story = running().crashes(ROLE_WORKER, 0, first).terminates().wait(1).startAndRun();
    return story.crashes(ROLE_WORKER, 0, second).terminates().wait(2);
  }

  @Test
  public void permanentFailureIsNotRetried() {
    TaskStatus.Builder noScript = failed("there is no script train.py").setFailedPermanently(true);
    JobStory story = starting().task(ROLE_WORKER, 0, noScript).terminates();
    story.is(JOB_STATE_FAILED).cause("there is no script train.py");
  }

  @Test
  public void theCauseIsTheEarliestFailureThatNoOtherTaskExplains() {
    TaskStatus.Builder early = failed("ran out of memory").setFinishedAt(Timestamps.fromSeconds(1));
    TaskStatus.Builder late = failed("lost its peer").setFinishedAt(Timestamps.fromSeconds(2));
    JobStory story = running().meanwhile(ROLE_WORKER, 0, late).task(ROLE_WORKER, 1, early);
    story.attemptCause(CAUSE_KIND_CRASH, "ran out of memory");
    early.getFailureBuilder().setKind(FAILURE_KIND_PEER);
    late.getFailureBuilder().setKind(FAILURE_KIND_SCRIPT);
    story = running().meanwhile(ROLE_WORKER, 0, early).task(ROLE_WORKER, 1, late);
    story.attemptCause(CAUSE_KIND_CRASH, "worker 1");
  }

  @Test
  public void aWorkerThatFinishedIsNamedWhereAnotherOneNoticesItsEndOrStalls() {
    String waited = "; it may have waited for worker 0, which had ended with exit code 0";
    TaskStatus.Builder peer = raised(FAILURE_KIND_PEER, "a.b.UnavailableError", "Task has failed");
    JobStory noticed = running().meanwhile(ROLE_WORKER, 0, status(TASK_STATE_SUCCEEDED));
    noticed.crashes(ROLE_WORKER, 1, peer).attemptCause(CAUSE_KIND_CRASH, waited);

    JobStory stalled = running().meanwhile(ROLE_WORKER, 0, status(TASK_STATE_SUCCEEDED));
    stalled.task(ROLE_WORKER, 1, failed("worker 1 stalled").setStalled(true)).counts(1, 0);
    stalled.attemptCause(CAUSE_KIND_STALL, "worker 1 stalled" + waited);
    stalled.terminates().wait(2).is(JOB_STATE_RESERVING);

    JobStory own = running().meanwhile(ROLE_WORKER, 0, status(TASK_STATE_SUCCEEDED));
    own.crashes(ROLE_WORKER, 1, raised(FAILURE_KIND_SCRIPT, "ValueError", "a row"));
    assertFalse(own.attempt().getCause().contains("waited"));
  }

  @Test
  public void aCrashIsNotCountedWhenItsReasonIsALostNode() {
    JobStory story = running().crashes(ROLE_WORKER, 0).counts(1, 0).provesTermination(NODE_A);
    story.nodeIsLost(NODE_B).counts(0, 0).attemptCause(CAUSE_KIND_NODE_LEFT);
    assertEquals("", story.job.getTraceback());
    story.wait(8).is(JOB_STATE_RESERVING);
  }

  @Test
  public void theNextAttemptWaitsForTheLeaseOfALostNodeUnlessItsEndIsProven() {
    JobStory stopped = running();
    stopped.owners.remove(JobStory.node(NODE_B));
    stopped.nodeStops(NODE_B).provesTermination(NODE_A).wait(1).is(JOB_STATE_RESTARTING);
    stopped.wait(1).is(JOB_STATE_RESERVING);

    JobStory proven = running();
    proven.terminated.add(NODE_B);
    proven.wait(1).is(JOB_STATE_RUNNING).nodeIsLost(NODE_B).is(JOB_STATE_RESTARTING);
    proven.provesTermination(NODE_A).is(JOB_STATE_RESERVING);
    proven.startAndRun().nodeFails(NODE_A, "no").is(JOB_STATE_RESTARTING);
    proven.wait(2).is(JOB_STATE_RESTARTING);

    // The lease counts from the loss, and not from an earlier crash.
    JobStory later = running().crashes(ROLE_WORKER, 0).provesTermination(NODE_A).wait(20);
    later.nodeIsLost(NODE_B).wait(7).is(JOB_STATE_RESTARTING).wait(1).is(JOB_STATE_RESERVING);
  }

  @Test
  public void sideOfACutNetworkGoesOnOnlyIfItIsTheLargerOne() {
    JobStory story = running().nodeIsLost(NODE_B).nodeLeaves(NODE_C).provesTermination(NODE_A);
    story.wait(8).is(JOB_STATE_RESTARTING);
    story.waitsFor(
        "a majority of the 3 nodes of its cluster (quorum=majority: more than half, or half with"
            + " the oldest, node aaaaaaaa); 1 are here, missing: bbbbbbbb at 127.0.0.1:1, cccccccc"
            + " at 127.0.0.1:1. Start them again; or, if they are permanently off:"
            + " tensorflow-ignite quorum accept 7f3a0000");
    story.nodeIsBack(NODE_C).is(JOB_STATE_RESERVING);

    JobStory free =
        running(spec -> spec.getRestartBuilder().setQuorum(QUORUM_NONE)).nodeIsLost(NODE_B);
    free.nodeLeaves(NODE_C).provesTermination(NODE_A).wait(8).is(JOB_STATE_RESERVING);
  }

  @Test
  public void nodesThatLeaveInOrderGiveTheirVotesBackAndHalfNeedsTheOldest() {
    JobStory oldest = running().nodeStops(NODE_C).nodeIsLost(NODE_B).provesTermination(NODE_A);
    assertEquals(2, oldest.job.getMembersCount());
    oldest.wait(8).is(JOB_STATE_RESERVING);

    JobStory other = running().nodeStops(NODE_C).nodeIsLost(NODE_A).provesTermination(NODE_B);
    other.wait(100).is(JOB_STATE_RESTARTING);
    String waits = other.job.getWaitingFor();
    assertTrue(waits, waits.contains("a majority of the 2 nodes"));
    other.quorumAccepted(NODE_B).is(JOB_STATE_RESERVING);
    assertEquals(1, other.job.getMembersCount());

    JobStory whole = running();
    Job before = whole.job;
    assertEquals(before, whole.quorumAccepted(NODE_A, NODE_B, NODE_C).job);
  }

  @Test
  public void aNodeThatLeavesStaysAMemberIfItIsTheLastOrAnotherMemberIsMissing() {
    assertEquals(3, running().nodeLeaves(NODE_C).nodeStops(NODE_B).job.getMembersCount());
    JobStory last = running().nodeStops(NODE_C).nodeStops(NODE_B).nodeStops(NODE_A);
    assertEquals(1, last.job.getMembersCount());
  }

  @Test
  public void aNodeThatIsBeingStoppedIsNoMemberOfTheNextAttempt() {
    Node stopping =
        JobStory.node(NODE_C).toBuilder().setAvailability(NODE_AVAILABILITY_STOPPING).build();
    Job.Builder job = Job.newBuilder();
    Members.set(job, List.of(JobStory.node(NODE_A), stopping));
    assertEquals(1, job.getMembersCount());
    Members.set(job, List.of(stopping));
    assertEquals(1, job.getMembersCount());
  }

  @Test
  public void theTimeInTheQueueDoesNotCountForTheWaitTimeout() {
    PlacementResult moves = PlacementResult.waitFor("an owner of partition 1 of cache 'digits'");
    JobStory story = JobStory.mirrored();
    story.queued = true;
    story.observe().wait(100_000).is(JOB_STATE_PENDING).waitsFor("a place in the queue");
    story.observe(moves).passes(599).observe(moves).is(JOB_STATE_PENDING);
    story.observe().passes(599).observe(moves).is(JOB_STATE_PENDING);
    story.passes(601).observe(moves).is(JOB_STATE_FAILED);

    JobStory admitted = JobStory.mirrored();
    admitted.queued = true;
    admitted.observe().wait(100_000);
    admitted.queued = false;
    admitted.job = admitted.job.toBuilder().setAdmittedAt(Timestamps.fromSeconds(5)).build();
    admitted.observe(moves).passes(599).observe(moves).is(JOB_STATE_PENDING);
    admitted.passes(1).observe(moves).is(JOB_STATE_FAILED);

    JobStory stopped = JobStory.mirrored();
    stopped.queued = true;
    stopped.observe().stopRequested().observe().is(JOB_STATE_STOPPED);
  }

  @Test
  public void aJobThatRunsKeepsItsAttemptUntilTheGpusOfTheNextOneAreFree() {
    JobStory story = movesToTakenGpus();
    story.wait(3_600).is(JOB_STATE_RUNNING).waitsFor("");
    story.observe(PlacementResult.waitFor("the partition map")).is(JOB_STATE_RUNNING);
    story.gpus = null;
    story.observe().is(JOB_STATE_RESTARTING);

    JobStory withoutGpus = running().dataMoves(NODE_C, 0).passes(6);
    withoutGpus.observe(PlacementResult.waitFor("the partition map")).is(JOB_STATE_RESTARTING);
    assertFalse(withoutGpus.attempt().hasFinishedAt());
  }

  @Test
  public void aJobThatRestartsWaitsForGpusOfOtherJobsWithoutALimit() {
    JobStory story = movesToTakenGpus().crashes(ROLE_WORKER, 0).all(TASK_STATE_STOPPED);
    assertFalse("others may not have its GPUs yet", story.attempt().hasFinishedAt());
    story.passes(1).terminates().is(JOB_STATE_RESTARTING);
    assertTrue("its GPUs are free for others", story.attempt().hasFinishedAt());
    story.counts(0, 0).attemptCause(CAUSE_KIND_DATA_MOVED).wait(3_600).is(JOB_STATE_RESTARTING);
    story.waitsFor("GPUs of node cccccccc").counts(0, 0);
    // Other obstacles have the wait timeout from then on.
    PlacementResult obstacle = PlacementResult.waitFor("an owner of partition 3");
    story.passes(599).observe(obstacle).is(JOB_STATE_RESTARTING);
    story.gpus = null;
    story.observe().is(JOB_STATE_RESERVING);
    assertEquals(2, story.attempt().getNumber());

    JobStory stopped = movesToTakenGpus().crashes(ROLE_WORKER, 0).all(TASK_STATE_STOPPED);
    stopped.passes(1).terminates().is(JOB_STATE_RESTARTING);
    stopped.stopRequested().is(JOB_STATE_STOPPED);
  }

  /** A job whose data have moved to a node whose GPUs other jobs have. */
  private static JobStory movesToTakenGpus() {
    JobStory story = running(spec -> spec.getWorkersBuilder().setGpus(1));
    story.gpus = "GPUs of node cccccccc";
    return story.dataMoves(NODE_C, 0);
  }
}
