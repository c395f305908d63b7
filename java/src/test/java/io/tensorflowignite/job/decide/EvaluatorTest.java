package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.v1.Evaluator;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
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
    story.crashes(ROLE_EVALUATOR, 0).is(JOB_STATE_RUNNING);
    assertEquals(TASK_STATE_FAILED, story.find(ROLE_EVALUATOR, 0).getStatus().getState());
    assertEquals(0, story.job.getCrashes());
    story.task(ROLE_WORKER, 0, TASK_STATE_SUCCEEDED).task(ROLE_WORKER, 1, TASK_STATE_SUCCEEDED);
    story.is(JOB_STATE_ENDING);
    assertEquals(JOB_STATE_SUCCEEDED, story.job.getOutcome());
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
