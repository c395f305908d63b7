package io.tensorflowignite.job;

import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PREDICT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.Throughput;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.Test;

/**
 * Promise (nodes): A scrape calls no other node, and has at most 100 jobs and 100 model versions.
 */
public class JobMetricsTest {
  private final List<Job> jobs = new ArrayList<>();
  private final AtomicInteger reads = new AtomicInteger();
  private final AtomicLong clock = new AtomicLong();
  private final NodeMetrics metrics = new NodeMetrics();

  public JobMetricsTest() {
    new JobMetrics(
            () -> {
              reads.incrementAndGet();
              return jobs;
            },
            () -> jobs,
            clock::get)
        .observe(metrics, () -> Map.of(CAUSE_KIND_CRASH, 2L));
  }

  @Test
  public void twentyJobsAreReadOnceASecondHoweverManyScrapesThereAre() {
    for (int i = 0; i < 20; i++) {
      jobs.add(job("job-" + i, JOB_STATE_RUNNING, i).build());
    }
    for (int scrape = 0; scrape < 100; scrape++) {
      clock.addAndGet(30_000_000);
      assertEquals(20, count("tensorflow_ignite_job_step{"));
    }
    assertEquals("in 3 s", 3, reads.get());
  }

  @Test
  public void theStateTheQueueAndTheCausesAreCounted() {
    jobs.add(job("a", JOB_STATE_RUNNING, 1).build());
    jobs.add(job("b", JOB_STATE_PENDING, 2).clearAttempts().build());
    jobs.add(job("c", JOB_STATE_PENDING, 2).clearAttempts().setStateValue(77).build());
    assertHas("tensorflow_ignite_jobs{state=\"running\"} 1.0");
    assertHas("tensorflow_ignite_jobs{state=\"unreadable\"} 1.0");
    assertHas("tensorflow_ignite_jobs{state=\"succeeded\"} 0.0");
    assertHas("tensorflow_ignite_jobs_queued 1.0");
    assertHas("tensorflow_ignite_job_restarts_total{cause=\"crash\"} 2.0");
    assertHas("tensorflow_ignite_job_restarts_total{cause=\"node-left\"} 0.0");
    assertFalse(text().contains("job_step{job_id=\"b\""));
  }

  @Test
  public void aJobIsTheSumOfItsTasks() {
    jobs.add(job("a", JOB_STATE_RUNNING, 1).build());
    String labels = "{job_id=\"a\",job_name=\"train\"} ";
    assertHas("tensorflow_ignite_job_running" + labels + "1.0");
    assertHas("tensorflow_ignite_job_attempts" + labels + "3.0");
    assertHas("tensorflow_ignite_job_step" + labels + "120.0");
    assertHas("tensorflow_ignite_job_checkpoint_step" + labels + "100.0");
    assertHas("tensorflow_ignite_job_steps_per_second" + labels + "2.0");
    assertHas("tensorflow_ignite_job_examples_per_second" + labels + "128.0");
    assertHas("tensorflow_ignite_job_input_wait_ratio" + labels + "0.5");
    assertHas("tensorflow_ignite_job_memory_bytes" + labels + "3000.0");
    assertHas("tensorflow_ignite_job_snapshot_bytes" + labels + "300.0");
  }

  @Test
  public void aPredictionSavesNoCheckpoint() {
    Job.Builder job = job("a", JOB_STATE_RUNNING, 1);
    job.getSpecBuilder().getStrategyBuilder().setKind(JOB_KIND_PREDICT);
    jobs.add(job.build());
    assertFalse(text().contains("job_checkpoint_step{"));
  }

  @Test
  public void theOldestJobsHaveSeriesAndLongNamesAreCut() {
    for (int i = 0; i < JobMetrics.MAX_JOBS + 5; i++) {
      Job.Builder job = job("job-" + i, JOB_STATE_RUNNING, 1_000 - i);
      job.getSpecBuilder().setName("n".repeat(200));
      jobs.add(job.build());
    }
    assertEquals(JobMetrics.MAX_JOBS, count("tensorflow_ignite_job_running{"));
    assertHas("tensorflow_ignite_jobs_left_out 5.0");
    assertFalse(text().contains("job_id=\"job-0\""));
    assertFalse(text().contains("n".repeat(101)));
  }

  private static Job.Builder job(String id, JobState state, long createdAt) {
    Job.Builder job =
        Job.newBuilder()
            .setId(id)
            .setState(state)
            .setCreatedAt(Timestamp.newBuilder().setSeconds(createdAt));
    job.getSpecBuilder().setName("train");
    Attempt.Builder attempt = job.addAttemptsBuilder().setNumber(3).setLastStep(120);
    attempt.addTasks(task(ROLE_WORKER, 0)).addTasks(task(ROLE_WORKER, 1));
    attempt.addTasks(task(ROLE_EVALUATOR, 0));
    return job;
  }

  private static Task task(Role role, int index) {
    Throughput speed =
        Throughput.newBuilder()
            .setStepsPerSecond(2)
            .setExamplesPerSecond(64)
            .setInputWait(index == 0 ? 0.25 : 0.75)
            .build();
    TaskStatus.Builder status =
        TaskStatus.newBuilder().setState(TASK_STATE_RUNNING).setMemoryBytes(1_000);
    status
        .getProgressBuilder()
        .setStep(120)
        .setCheckpointStep(index == 0 ? 100 : 0)
        .setSnapshotBytes(100)
        .setThroughput(speed);
    return Task.newBuilder().setRole(role).setIndex(index).setStatus(status).build();
  }

  private String text() {
    return new String(metrics.text(), UTF_8);
  }

  private void assertHas(String part) {
    assertTrue(text(), text().contains(part));
  }

  private long count(String begin) {
    return text().lines().filter(line -> line.startsWith(begin)).count();
  }
}
