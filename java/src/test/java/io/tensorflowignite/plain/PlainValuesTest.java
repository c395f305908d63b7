package io.tensorflowignite.plain;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.Test;

/** The names and forms of Python's Job.to_dict; ItTensorFlowJobs compares them with Python. */
public class PlainValuesTest {
  @Test
  public void valuesHaveTheFormsOfPython() {
    Job.Builder job =
        Job.newBuilder()
            .setState(JobState.JOB_STATE_RUNNING)
            .setCreatedAt(Timestamp.newBuilder().setSeconds(1).setNanos(2_000_999))
            .addAttempts(
                Attempt.newBuilder()
                    .setNumber(1)
                    .setCauseKind(CauseKind.CAUSE_KIND_NODE_LEFT)
                    .setStartedAt(Timestamp.newBuilder().setSeconds(1)));
    job.getSpecBuilder().getStrategyBuilder().setKind(JobKind.JOB_KIND_PARAMETER_SERVER);
    job.getSpecBuilder().getTimeoutsBuilder().setStall(Durations.fromMillis(1_500));
    job.getSpecBuilder().getEnvironmentBuilder().putVariables("SEED", "7");
    Map<String, Object> plain = PlainValues.of(job.build());
    assertEquals("running", plain.get("state"));
    assertEquals("1970-01-01T00:00:01.002000+00:00", plain.get("created_at"));
    assertEquals("parameter-server", at(plain, "spec", "strategy", "kind"));
    assertEquals(1.5, at(plain, "spec", "timeouts", "stall"));
    assertEquals(Map.of("SEED", "7"), at(plain, "spec", "environment", "variables"));
    Map<?, ?> attempt = (Map<?, ?>) ((List<?>) plain.get("attempts")).get(0);
    assertEquals(1L, attempt.get("number"));
    assertEquals("node-left", attempt.get("cause_kind"));
    assertEquals("1970-01-01T00:00:01+00:00", attempt.get("started_at"));
  }

  @Test
  public void timesHaveTheSameDigitsInEachLanguage() {
    Job.Builder job = Job.newBuilder();
    job.getCreatedAtBuilder().setSeconds(1).setNanos(2_000_999);
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
    try {
      assertEquals(
          "1970-01-01T00:00:01.002000+00:00", PlainValues.of(job.build()).get("created_at"));
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  public void whatHasNoValueOrIsForNodesIsLeftOut() {
    Job.Builder job = Job.newBuilder().setRequestId("secret").setCrashes(0);
    Task.Builder task = job.addAttemptsBuilder().addTasksBuilder();
    task.getStatusBuilder().setState(TaskState.TASK_STATE_RUNNING);
    Map<String, Object> plain = PlainValues.of(job.build());
    assertEquals(0L, plain.get("crashes"));
    for (String name : List.of("request_id", "finished_at", "exit_code", "outcome", "members")) {
      assertFalse(name, plain.containsKey(name));
    }
    Map<?, ?> attempt = (Map<?, ?>) ((List<?>) plain.get("attempts")).get(0);
    Map<?, ?> status =
        (Map<?, ?>) ((Map<?, ?>) ((List<?>) attempt.get("tasks")).get(0)).get("status");
    for (String name : List.of("pid", "exit_code", "token_digest")) {
      assertFalse(name, status.containsKey(name));
    }
    task.getStatusBuilder().setState(TaskState.TASK_STATE_SUCCEEDED);
    attempt = (Map<?, ?>) ((List<?>) PlainValues.of(job.build()).get("attempts")).get(0);
    status = (Map<?, ?>) ((Map<?, ?>) ((List<?>) attempt.get("tasks")).get(0)).get("status");
    assertEquals(0L, status.get("exit_code"));
  }

  private static Object at(Map<?, ?> map, String... path) {
    Object value = map;
    for (String name : path) {
      value = ((Map<?, ?>) value).get(name);
    }
    return value;
  }
}
