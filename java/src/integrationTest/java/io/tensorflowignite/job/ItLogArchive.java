package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
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
      Await.until(
          "all jobs are over",
          () ->
              index.finished().stream().filter(job -> job.getId().startsWith("over-")).count()
                  == JOBS);
      assertEquals("runs", index.current().get(0).getId());
      assertEquals(1, index.current().size());
    }
  }

  @Test
  public void aListThatIsOlderThanTheLastPassLosesNoOutput() throws Exception {
    Ignite node = NODES.node(0);
    JobTable jobs = new JobTable(node);
    LogTable logs = new LogTable(node);
    TaskKey task =
        TaskKey.newBuilder().setJobId("spoke").setAttempt(1).setRole(ROLE_WORKER).build();
    Task.Builder ended =
        Task.newBuilder().setRole(ROLE_WORKER).setStatus(TaskStatus.newBuilder().setLogBytes(5));
    Attempt attempt = Attempt.newBuilder().setNumber(1).addTasks(ended).build();
    List<Job> listed =
        List.of(job("spoke", JOB_STATE_FAILED).toBuilder().addAttempts(attempt).build());
    assertTrue(jobs.insert(listed.get(0)));
    LogChunk chunk = LogChunk.newBuilder().setData(ByteString.copyFromUtf8("words")).build();
    logs.put(task, chunk, Purpose.DATA);
    StorageSettings settings =
        new StorageSettings("archive", 0, null, 4 << 10, Duration.ofMinutes(2));
    try (Storage storage = new Storage(node, settings)) {
      JobFileStore files = new JobFileStore(storage);
      for (int pass = 0; pass < 2; pass++) {
        // It ends when its pass has ended.
        try (LogArchive archive = new LogArchive(node, jobs, files)) {
          archive.poll(listed);
          Await.until("the pass is over", archive::isIdle);
        }
        assertTrue(jobs.get("spoke").get().getLogsStored());
        assertEquals(List.of(), logs.gaps(task));
        try (StorageInput file = files.read(JobPaths.log(task))) {
          assertEquals("words", new String(file.readAllBytes(), StandardCharsets.UTF_8));
        }
      }
    }
  }

  private static Job job(String id, JobState state) {
    return Job.newBuilder().setId(id).setLayout(JobLayout.CURRENT).setState(state).build();
  }
}
