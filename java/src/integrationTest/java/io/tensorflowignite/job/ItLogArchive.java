package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import org.apache.ignite.Ignite;
import org.junit.ClassRule;
import org.junit.Test;

/** Jobs that are over leave the table of a real node. */
public class ItLogArchive {
  private static final int JOBS = 100;

  @ClassRule public static final PlainNodes NODES = PlainNodes.shared();

  @Test
  public void oneCallMovesAllJobsThatAreOverToTheHistory() throws Exception {
    Ignite node = NODES.node(0);
    JobTable jobs = new JobTable(node);
    for (int i = 0; i < JOBS; i++) {
      assertTrue(jobs.insert(job("over-" + i, JOB_STATE_FAILED)));
    }
    assertTrue(jobs.insert(job("runs", JOB_STATE_RUNNING)));
    try (JobIndex index = JobIndex.open(node, id -> {});
        // The jobs have had no task: there is no output, and no file.
        LogArchive archive = new LogArchive(node, jobs, new JobFileStore(null))) {
      archive.poll(index.current());
      Await.until("all jobs are over", () -> index.finished().size() == JOBS);
      assertEquals("runs", index.current().get(0).getId());
      assertEquals(1, index.current().size());
    }
  }

  private static Job job(String id, JobState state) {
    return Job.newBuilder().setId(id).setLayout(JobLayout.CURRENT).setState(state).build();
  }
}
