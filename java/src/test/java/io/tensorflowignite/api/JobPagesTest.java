package io.tensorflowignite.api;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static org.junit.Assert.assertEquals;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.ListJobsRequest;
import java.util.List;
import org.junit.Test;

public class JobPagesTest {
  private static final List<Job> JOBS = List.of(job("a", 1), job("b", 2));

  @Test
  public void aTokenLeadsToTheNextPage() {
    ListJobsRequest.Builder request = ListJobsRequest.newBuilder().setPageSize(1);
    JobPages first = JobPages.of(request.build(), JOBS);
    assertEquals(List.of(JOBS.get(1)), first.jobs());
    JobPages second = JobPages.of(request.setPageToken(first.next()).build(), JOBS);
    assertEquals(List.of(JOBS.get(0)), second.jobs());
    assertEquals("", second.next());
  }

  @Test
  public void aWrongTokenIsTheMistakeOfTheCaller() {
    for (String token :
        List.of(
            "x",
            "-1.0/a",
            "9999999999999999999.0/a",
            "31556889864403199.0/a",
            "253402300800.0/a")) {
      assertInvalid(ListJobsRequest.newBuilder().setPageToken(token), "page_token '" + token);
    }
  }

  @Test
  public void aTimeThatDoesNotExistIsTheMistakeOfTheCaller() {
    for (Timestamp since :
        List.of(
            Timestamp.newBuilder().setSeconds(1_000_000_000_000_000L).build(),
            Timestamp.newBuilder().setSeconds(1).setNanos(-5).build())) {
      assertInvalid(ListJobsRequest.newBuilder().setSince(since), "since is no time");
    }
  }

  @Test
  public void aStateOfALaterVersionIsFoundWithoutItsName() {
    Job later = job("c", 3).toBuilder().setStateValue(1000).build();
    Job running = job("d", 4).toBuilder().setState(JobState.JOB_STATE_RUNNING).build();
    for (JobState state : List.of(JobState.JOB_STATE_UNSPECIFIED, JobState.JOB_STATE_RUNNING)) {
      assertEquals(
          List.of(state == JobState.JOB_STATE_RUNNING ? running : later),
          JobPages.of(
                  ListJobsRequest.newBuilder().addStates(state).build(), List.of(later, running))
              .jobs());
    }
  }

  private static void assertInvalid(ListJobsRequest.Builder request, String message) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> JobPages.of(request.build(), JOBS), message);
  }

  private static Job job(String id, long second) {
    return Job.newBuilder().setId(id).setCreatedAt(Timestamps.fromSeconds(second)).build();
  }
}
