package io.tensorflowignite.job;

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

public class RetentionTest {
  private static final long END_S = 1_000_000;

  private final Retention week = new Retention(Duration.ofDays(7));
  private final Retention ever = new Retention(Duration.ZERO);
  private final Job over = job("aaaa", JobState.SUCCEEDED, JobFiles.checkpoints("aaaa"));

  @Test
  public void jobThatIsOverIsDueWhenItsTimeHasPassedAndNotAMomentBefore() {
    assertEquals(Collections.emptyList(), due(week, days(7) - 1, over));
    assertEquals(Collections.singletonList("aaaa"), due(week, days(7), over));
  }

  @Test
  public void jobThatIsNotOverIsNeverDue() {
    for (JobState state : JobState.values()) {
      boolean isOver =
          state == JobState.SUCCEEDED || state == JobState.FAILED || state == JobState.STOPPED;
      if (state != JobState.UNRECOGNIZED) {
        assertEquals(
            state.toString(), isOver, !due(week, days(1000), job("aaaa", state, "")).isEmpty());
      }
    }
  }

  @Test
  public void withoutALimitJobsStayAndSoItIsTold() {
    assertEquals(Collections.emptyList(), due(ever, days(10_000), over));
    assertFalse(ever.told(over).hasKeptUntil());
  }

  @Test
  public void clientsAreToldUntilWhenAJobIsKept() {
    assertEquals(at(days(7)), week.told(over).getKeptUntil());
    Job running = job("bbbb", JobState.RUNNING, "");
    assertEquals(running, week.told(running));
  }

  @Test
  public void filesThatAnotherJobGoesOnFromStayAsLongAsThatJob() {
    Job running = job("bbbb", JobState.RUNNING, "ignite://10.0.0.1:10820/jobs/aaaa/checkpoints");
    Job younger = job("cccc", JobState.FAILED, "ignite:///jobs/aaaa");
    assertEquals(Collections.emptyList(), due(week, days(1000), over, running));
    assertEquals(running, Retention.userOf(over, Arrays.asList(over, running)).get());
    assertEquals(Collections.singletonList("cccc"), due(week, days(1000), over, younger));
    assertFalse(Retention.userOf(over, Arrays.asList(over, younger)).isPresent());
  }

  @Test
  public void directoriesThatOnlyLookAlikeAreNotInUse() {
    for (String address : new String[] {"/jobs/aaaa", "ignite:///jobs/aaaab/c", "s3://jobs/aaaa"}) {
      Job other = job("bbbb", JobState.RUNNING, address);
      assertEquals(address, Collections.singletonList("aaaa"), due(week, days(8), over, other));
    }
  }

  @Test
  public void codeGoesWhenNoJobNamesItAndNoneCanBeAboutTo() {
    assertFalse(week.isUnneeded("digest", at(0), Collections.singleton("digest"), at(days(9))));
    assertFalse(week.isUnneeded("digest", at(0), Collections.emptySet(), at(3599)));
    assertTrue(week.isUnneeded("digest", at(0), Collections.emptySet(), at(3600)));
    assertTrue(ever.isUnneeded("digest", at(0), Collections.emptySet(), at(3600)));
  }

  private static List<String> due(Retention retention, long seconds, Job... jobs) {
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
