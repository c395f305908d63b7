package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.OnJoin.ON_JOIN_IGNORE;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Evaluator;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import java.util.stream.Collectors;
import org.junit.Test;

/** A job with an evaluator: the training does not wait for it, and does not end with it. */
public class EvaluatorTest {
  private static JobStory running() {
    return JobStory.mirrored()
        .withSpec(spec -> spec.setEvaluator(Evaluator.getDefaultInstance()).setMaxCrashes(0))
        .observe()
        .startAndRun()
        .is(JOB_STATE_RUNNING);
  }

  @Test
  public void theJobEndsWhenTheEvaluatorHasEvaluatedTheLastCheckpoint() {
    JobStory story = running();
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.is(JOB_STATE_RUNNING);
    story.task(ROLE_EVALUATOR, 0, TASK_STATE_SUCCEEDED).is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void anEvaluatorThatFailsIsStartedAgainThriceAndTheTrainingGoesOn() {
    JobStory story = running();
    for (int incarnation = 0; incarnation < 3; incarnation++) {
      story.crashes(ROLE_EVALUATOR, 0).is(JOB_STATE_RUNNING);
      Task evaluator = story.find(ROLE_EVALUATOR, 0);
      assertEquals(incarnation + 1, evaluator.getIncarnation());
      assertEquals(TASK_STATE_RESERVED, evaluator.getStatus().getState());
    }
    assertFalse(history(story).contains("is not started again"));
    story.crashes(ROLE_EVALUATOR, 0).is(JOB_STATE_RUNNING);
    assertEquals(TASK_STATE_FAILED, story.find(ROLE_EVALUATOR, 0).getStatus().getState());
    assertEquals(0, story.job.getCrashes());
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void theHistorySaysOnceThatAnEvaluatorIsNotStartedAgain() {
    JobStory story = running();
    for (int incarnation = 0; incarnation <= 3; incarnation++) {
      story.crashes(ROLE_EVALUATOR, 0);
    }
    int events = story.events().size();
    assertEquals(
        "evaluator 0 is not started again in attempt 1 (it was started 4 times, at most 4), and the"
            + " training goes on without it: evaluator 0 on node "
            + MessageText.shortId(story.find(ROLE_EVALUATOR, 0).getNodeId())
            + " failed: exited with code 3 (ValueError: no)",
        story.events().get(events - 1).getText());
    story.wait(1).wait(1).is(JOB_STATE_RUNNING);
    assertEquals(events, story.events().size());
  }

  @Test
  public void theHistorySaysThatTheEvaluatorHasLeftWithItsNode() {
    JobStory story =
        JobStory.mirrored()
            .withSpec(
                spec -> spec.setEvaluator(Evaluator.getDefaultInstance()).setOnJoin(ON_JOIN_IGNORE))
            .observe()
            .startAndRun();
    Task worker = story.find(ROLE_WORKER, 1);
    assertEquals(worker.getNodeId(), story.find(ROLE_EVALUATOR, 0).getNodeId());
    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.nodeLeaves(worker.getNodeId()).is(JOB_STATE_RUNNING);
    assertTrue(history(story), history(story).contains("without it: node "));
  }

  private static String history(JobStory story) {
    return story.events().stream().map(Event::getText).collect(Collectors.joining("\n"));
  }

  @Test
  public void anEvaluatorThatStallsIsStartedAgainToo() {
    JobStory story = running();
    story.task(
        ROLE_EVALUATOR,
        0,
        TaskStatus.newBuilder().setState(TASK_STATE_FAILED).setStalled(true).setError("stalled"));
    story.is(JOB_STATE_RUNNING);
    assertEquals(1, story.find(ROLE_EVALUATOR, 0).getIncarnation());
    assertEquals(0, story.job.getCrashes());
  }

  @Test
  public void aWorkerThatFailsBesideAnEvaluatorRestartsTheAttempt() {
    JobStory story = running().withSpec(spec -> spec.setMaxCrashes(3));
    story.crashes(ROLE_WORKER, 0).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void theCheckpointsThatAnEvaluatorReadsAreNoStepsOfTheTraining() {
    JobStory story = running();
    for (int restart = 1; restart <= 3; restart++) {
      story.task(
          ROLE_EVALUATOR,
          0,
          TaskStatus.newBuilder()
              .setState(TASK_STATE_RUNNING)
              .setProgress(Progress.newBuilder().setStep(500)));
      story.dataMoves(JobStory.NODE_A, restart).wait(5);
      story.provesTermination(JobStory.NODE_A, JobStory.NODE_B);
      assertEquals(restart, story.job.getIdleRestarts());
      story.startAndRun().is(JOB_STATE_RUNNING);
    }
  }

  @Test
  public void aTrainingThatIsDoneIsNotRepeatedSinceTheEvaluatorsNodeIsDrainedOrStopped() {
    JobStory story = running();
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.task(
        ROLE_EVALUATOR,
        0,
        TaskStatus.newBuilder().setState(TASK_STATE_RUNNING).setEndRequested("is drained"));
    story.is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void theLossOfTheEvaluatorsNodeAfterTheTrainingEndsTheJobWithSuccess() {
    JobStory story = running();
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.nodeLeaves(story.find(ROLE_EVALUATOR, 0).getNodeId()).is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }
}
