package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobStory.NODE_A;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_SAVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_PLANNED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STOP_REQUEST;
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.EndProgress;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.TaskStatus;
import java.util.List;
import org.junit.Test;

public class EndPlanTest {
  /** The stop grace of a service without settings. */
  private static final int GRACE_S = 5;

  @Test
  public void aMoveOfDataEndsAnAttemptAfterAStepThatAllWorkersHaveSaved() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(5).is(JOB_STATE_RUNNING);
    assertEquals(ATTEMPT_PHASE_SAVE, story.attempt().getPhase());
    assertEquals("its tasks to save after a common step", story.job.getWaitingFor());
    story.worker(0, 120, false, 100);
    assertEquals(120, story.attempt().getPlannedEnd().getStep());
    assertFalse(story.attempt().getPlannedEnd().getAgreed());
    story.worker(1, 120, false, 0);
    assertTrue(story.attempt().getPlannedEnd().getAgreed());
    story.worker(0, 120, true, 120).is(JOB_STATE_RUNNING);
    story.worker(1, 120, true, 0).is(JOB_STATE_RESTARTING);
    assertEquals(ATTEMPT_PHASE_STOP, story.attempt().getPhase());
    story.attemptCause(CAUSE_KIND_DATA_MOVED).terminates().is(JOB_STATE_RESERVING);
    story.counts(0, 0).history("attempt 1 ended at step 120, saved at step 120");
  }

  @Test
  public void theLatestProposalCountsAndNoProposalComesAfterTheAgreement() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(5);
    story.worker(0, 120, false, 0).worker(1, 123, false, 0);
    assertEquals(123, story.attempt().getPlannedEnd().getStep());
    assertFalse(story.attempt().getPlannedEnd().getAgreed());
    story.worker(0, 123, false, 0);
    assertTrue(story.attempt().getPlannedEnd().getAgreed());
    story.worker(1, 999, false, 0);
    assertEquals(123, story.attempt().getPlannedEnd().getStep());
  }

  @Test
  public void tasksThatDoNotSaveInTimeAreStoppedAndTheLostStepsAreSaid() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(5).worker(0, 120, false, 100);
    story.wait(GRACE_S - 1).is(JOB_STATE_RUNNING).wait(1).is(JOB_STATE_RESTARTING);
    story.attemptCause(
        CAUSE_KIND_DATA_MOVED, "did not save together within the stop grace (5.0 s)");
    story.terminates().is(JOB_STATE_RESERVING);
    story.history("attempt 1 ended at step 120, saved at step 100");
  }

  @Test
  public void tasksOfAScriptThatCannotSaveAreStoppedAtOnce() {
    JobStory story = JobStory.running().worker(0, 0, false, 0);
    story.dataMoves(NODE_A, 0).wait(5).is(JOB_STATE_RESTARTING);

    JobStory impatient =
        running().withSpec(spec -> spec.getTimeoutsBuilder().setStopGrace(Durations.ZERO));
    impatient.dataMoves(NODE_A, 0).wait(5).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void aStopWithSaveWaitsForTheSaveAndAnotherStopDoesNot() {
    JobStory story = running().stopWithSaveRequested().is(JOB_STATE_RUNNING);
    story.worker(0, 8, true, 8).worker(1, 8, true, 0).is(JOB_STATE_ENDING);
    story.attemptCause(CAUSE_KIND_STOP_REQUEST).terminates().is(JOB_STATE_STOPPED);
    story.history("any more; attempt 1 ended at step 8, saved at step 8");

    JobStory hurried = running().stopWithSaveRequested();
    hurried.job = hurried.job.toBuilder().setSaveRequested(false).build();
    hurried.observe().is(JOB_STATE_ENDING);

    for (JobStory early : List.of(JobStory.reserving(), JobStory.running())) {
      early.stopWithSaveRequested().is(JOB_STATE_ENDING);
    }
    JobStory moving = running().dataMoves(NODE_A, 0).wait(5).stopWithSaveRequested();
    moving.is(JOB_STATE_RUNNING).wait(GRACE_S).is(JOB_STATE_ENDING);
  }

  @Test
  public void aTaskThatIsSentSigtermFromOutsideEndsTheAttemptAndIsNoCrash() {
    JobStory story = running().task(ROLE_WORKER, 1, terminated()).is(JOB_STATE_RUNNING);
    assertEquals(ATTEMPT_PHASE_SAVE, story.attempt().getPhase());
    story.worker(0, 8, true, 8).worker(1, 8, true, 0).is(JOB_STATE_RESTARTING);
    story.attemptCause(
        CAUSE_KIND_PLANNED, "worker 1 on node bbbbbbbb was sent SIGTERM from outside the job");
    story.terminates().is(JOB_STATE_RESERVING).counts(0, 0);
  }

  @Test
  public void onlyTheClientProcessOfAParameterServerJobSaves() {
    JobStory story = JobStory.parameterServer().runs();
    TaskStatus.Builder ready = JobStory.status(TASK_STATE_RUNNING);
    EndProgress.Builder end = EndProgress.newBuilder().setReady(true);
    story.task(ROLE_CLIENT, 0, ready.setProgress(Progress.newBuilder().setEnd(end)));
    story.task(ROLE_PS, 0, terminated()).is(JOB_STATE_RUNNING);
    assertEquals(ATTEMPT_PHASE_SAVE, story.attempt().getPhase());
    story.task(ROLE_CLIENT, 0, ready.setProgress(Progress.newBuilder().setEnd(end.setSaved(true))));
    story.is(JOB_STATE_RESTARTING);
  }

  @Test
  public void aScriptThatIsDoneBeforeItSavesSucceeds() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(5);
    assertEquals(ATTEMPT_PHASE_SAVE, story.attempt().getPhase());
    story.all(TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    story.terminates().is(JOB_STATE_SUCCEEDED);
  }

  @Test
  public void aNodeWhoseWorkerHasFinishedLeavesWithoutAnEndOfTheAttempt() {
    for (String why : List.of("is being stopped", "is drained")) {
      TaskStatus.Builder finished = JobStory.status(TASK_STATE_SUCCEEDED).setEndRequested(why);
      running().task(ROLE_WORKER, 1, finished).is(JOB_STATE_RUNNING);
      TaskStatus.Builder works = finished.clone().setState(TASK_STATE_RUNNING);
      running().task(ROLE_WORKER, 1, works).is(JOB_STATE_RESTARTING);
    }
  }

  @Test
  public void theStopGraceBeginsAnewWhenAnotherNodeTakesTheServiceOver() {
    JobStory story = running().dataMoves(NODE_A, 0).wait(5).wait(GRACE_S - 1).serviceMoves(600);
    story.wait(GRACE_S - 1).is(JOB_STATE_RUNNING).wait(1).is(JOB_STATE_RESTARTING);
  }

  private static TaskStatus.Builder terminated() {
    return JobStory.status(TASK_STATE_RUNNING)
        .setProgress(
            Progress.newBuilder()
                .setEnd(EndProgress.newBuilder().setReady(true).setTerminated(true)));
  }

  /** Its workers are in loops with checkpoints. */
  private static JobStory running() {
    JobStory story = JobStory.running().worker(0, 0, false, 0).worker(1, 0, false, 0);
    assertEquals(ATTEMPT_PHASE_RUN, story.attempt().getPhase());
    return story;
  }
}
