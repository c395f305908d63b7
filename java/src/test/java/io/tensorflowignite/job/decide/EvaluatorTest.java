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

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Evaluator;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import org.junit.Test;

/** A job with an evaluator: the training does not wait for it, and does not end with it. */
public class EvaluatorTest {
  private static JobStory running() {
    return JobStory.running(
        spec ->
            spec.setEvaluator(Evaluator.getDefaultInstance()).getRestartBuilder().setMaxCrashes(0));
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
    int before = story.events().size();
    story.crashes(ROLE_EVALUATOR, 0).wait(1).wait(1).is(JOB_STATE_RUNNING).counts(0, 0);
    assertEquals(TASK_STATE_FAILED, story.find(ROLE_EVALUATOR, 0).getStatus().getState());
    assertEquals("the history says it once", before + 1, story.events().size());
    assertEquals(
        "evaluator 0 is not started again in attempt 1 (it was started 4 times, at most 4), and the"
            + " training goes on without it: evaluator 0 on node "
            + MessageText.shortId(story.find(ROLE_EVALUATOR, 0).getNodeId())
            + " failed: exited with code 3 (ValueError: no)",
        story.events().get(before).getText());
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
  }

  @Test
  public void theHistorySaysThatTheEvaluatorHasLeftWithItsNode() {
    JobStory story =
        JobStory.running(
            spec ->
                spec.setEvaluator(Evaluator.getDefaultInstance())
                    .getRestartBuilder()
                    .setOnJoin(ON_JOIN_IGNORE));
    Task worker = story.find(ROLE_WORKER, 1);
    assertEquals(worker.getNodeId(), story.find(ROLE_EVALUATOR, 0).getNodeId());
    story.task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.nodeLeaves(worker.getNodeId()).is(JOB_STATE_RUNNING);
    story.history("without it: node ");
  }

  @Test
  public void anEvaluatorThatStallsIsStartedAgainToo() {
    JobStory story = running();
    story.task(ROLE_EVALUATOR, 0, JobStory.failed("stalled").setStalled(true));
    story.is(JOB_STATE_RUNNING).counts(0, 0);
    assertEquals(1, story.find(ROLE_EVALUATOR, 0).getIncarnation());
  }

  @Test
  public void aWorkerThatFailsBesideAnEvaluatorRestartsTheAttempt() {
    JobStory story = running().withSpec(spec -> spec.getRestartBuilder().setMaxCrashes(3));
    story.crashes(ROLE_WORKER, 0).is(JOB_STATE_RESTARTING);
  }

  @Test
  public void theCheckpointsThatAnEvaluatorReadsAreNoStepsOfTheTraining() {
    JobStory story = running();
    for (int restart = 1; restart <= 3; restart++) {
      story.task(ROLE_EVALUATOR, 0, JobStory.atStep(500, 0));
      story.dataMoves(JobStory.NODE_A, restart).wait(5).terminates();
      assertEquals(restart, story.job.getIdleRestarts());
      story.startAndRun().is(JOB_STATE_RUNNING);
    }
  }

  @Test
  public void aTrainingThatIsDoneSucceedsAlsoIfTheEvaluatorsNodeIsDrainedOrLost() {
    for (boolean lost : new boolean[] {false, true}) {
      JobStory story = running();
      story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
      if (lost) {
        story.nodeLeaves(story.find(ROLE_EVALUATOR, 0).getNodeId());
      } else {
        TaskStatus.Builder drained = JobStory.status(TASK_STATE_RUNNING);
        story.task(ROLE_EVALUATOR, 0, drained.setEndRequested("is drained"));
      }
      assertEquals(JOB_STATE_SUCCEEDED, story.is(JOB_STATE_ENDING).job.getOutcome());
    }
  }
}
