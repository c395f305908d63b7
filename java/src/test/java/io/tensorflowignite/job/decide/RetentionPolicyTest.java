package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.JobState;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.Test;

public class RetentionPolicyTest {
  private static final long END_S = 1_000_000;

  private final RetentionPolicy week = new RetentionPolicy(Duration.ofDays(7));
  private final RetentionPolicy unlimited = new RetentionPolicy(Duration.ZERO);
  private final Job finished = job("aaaa", JOB_STATE_SUCCEEDED, JobPaths.checkpoints("aaaa"));

  @Test
  public void finishedJobIsDueExactlyWhenItsRetentionEndsWhichClientsSee() {
    assertEquals(List.of(), due(week, days(7) - 1, finished));
    assertEquals(List.of("aaaa"), due(week, days(7), finished));
    assertEquals(at(days(7)), week.withExpiry(finished).getKeptUntil());
    Job running = job("bbbb", JOB_STATE_RUNNING, "");
    assertEquals(running, week.withExpiry(running));
    assertEquals(List.of(), due(unlimited, days(10_000), finished));
    assertFalse(unlimited.withExpiry(finished).hasKeptUntil());
  }

  @Test
  public void unfinishedJobIsNeverDue() {
    for (JobState state : JobState.values()) {
      boolean isFinal =
          state == JOB_STATE_SUCCEEDED || state == JOB_STATE_FAILED || state == JOB_STATE_STOPPED;
      if (state != JobState.UNRECOGNIZED) {
        assertEquals(
            state.toString(), isFinal, !due(week, days(1000), job("aaaa", state, "")).isEmpty());
      }
    }
  }

  @Test
  public void filesThatAnotherJobUsesStayUntilItsEnd() {
    Job running = job("bbbb", JOB_STATE_RUNNING, "ignite://10.0.0.1:10820/jobs/aaaa/checkpoints");
    Job younger = job("cccc", JOB_STATE_FAILED, "ignite:///jobs/aaaa");
    assertEquals(List.of(), due(week, days(1000), finished, running));
    assertEquals(running, RetentionPolicy.userOf(finished, Arrays.asList(finished, running)).get());
    assertEquals(List.of("cccc"), due(week, days(1000), finished, younger));
    assertFalse(RetentionPolicy.userOf(finished, Arrays.asList(finished, younger)).isPresent());
  }

  @Test
  public void anotherFormOfTheAddressIsAUseAndADirectoryThatLooksAlikeIsNone() {
    for (String used :
        List.of("IGNITE:///jobs/aaaa/c", "ignite:////jobs//aaaa", "ignite://h/x/../jobs/aaaa/")) {
      Job other = job("bbbb", JOB_STATE_RUNNING, used);
      assertEquals(used, List.of(), due(week, days(8), finished, other));
    }
    for (String unused :
        List.of(
            "/jobs/aaaa", "ignite:///jobs/aaaab/c", "s3://jobs/aaaa", "ignite:///x/jobs/aaaa/c")) {
      Job other = job("bbbb", JOB_STATE_RUNNING, unused);
      assertEquals(unused, List.of("aaaa"), due(week, days(8), finished, other));
    }
  }

  @Test
  public void codeIsRemovedWhenNoJobUsesItAndNoneCanBeSubmitted() {
    assertFalse(week.isUnused("digest", at(0), Collections.singleton("digest"), at(days(9))));
    assertFalse(week.isUnused("digest", at(0), Collections.emptySet(), at(3599)));
    assertTrue(week.isUnused("digest", at(0), Collections.emptySet(), at(3600)));
    assertTrue(unlimited.isUnused("digest", at(0), Collections.emptySet(), at(3600)));
  }

  private static List<String> due(RetentionPolicy retention, long seconds, Job... jobs) {
    return retention.due(Arrays.asList(jobs), at(seconds)).stream()
        .map(Job::getId)
        .collect(Collectors.toList());
  }

  private static Job job(String id, JobState state, String checkpoints) {
    return Job.newBuilder()
        .setId(id)
        .setState(state)
        .setFinishedAt(at(0))
        .setSpec(JobSpec.newBuilder().setCheckpointDirectory(checkpoints))
        .build();
  }

  /** Seconds after the jobs' end. */
  private static Timestamp at(long seconds) {
    return Timestamps.fromSeconds(END_S + seconds);
  }

  private static long days(int days) {
    return Duration.ofDays(days).getSeconds();
  }
}
