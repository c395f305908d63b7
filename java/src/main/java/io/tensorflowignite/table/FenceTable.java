package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobFence;
import io.tensorflowignite.v1.Task;
import java.util.Optional;
import org.apache.ignite.Ignite;

/** Which tasks of each job may change files, on every node; {@link JobTable} writes it. */
public final class FenceTable {
  private final Rows rows;

  public FenceTable(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.FENCES);
  }

  /** The fence of a job; empty: there is none, or it is unreadable. */
  public Optional<JobFence> get(String jobId) {
    return read(jobId, rows.get(jobId));
  }

  /** The value that the fence of a job must have; empty: the job has no attempt yet. */
  public static Optional<JobFence> of(Job job) {
    if (job.getAttemptsCount() == 0) {
      return Optional.empty();
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    JobFence.Builder fence =
        JobFence.newBuilder().setJobId(job.getId()).setAttempt(newest.getNumber());
    for (Task task : newest.getTasksList()) {
      fence.addTasks(
          Task.newBuilder()
              .setRole(task.getRole())
              .setIndex(task.getIndex())
              .setIncarnation(task.getIncarnation()));
    }
    return Optional.of(fence.build());
  }

  /** In the transaction that changes the job's row. */
  void put(JobFence fence) {
    rows.put(Purpose.DECISION, fence.getJobId(), fence.toByteArray(), "the fence of a job");
  }

  /** In the transaction that removes the job's row. */
  void remove(String jobId) {
    rows.cache().remove(jobId);
  }

  private static Optional<JobFence> read(String jobId, Object value) {
    return Rows.read(JobFence.parser(), value, fence -> fence.getJobId().equals(jobId));
  }
}
