package io.tensorflowignite.job;

import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.TaskKey;
import java.util.regex.Pattern;
import org.apache.ignite.Ignite;

/**
 * Removes a finished job with its files and output; {@link CodeStore} removes its code. The row is
 * removed last, so that an interrupted removal can be repeated.
 */
public final class JobRemoval {
  private static final Pattern ID = Pattern.compile("[A-Za-z0-9-]+");

  private final JobTable jobs;
  private final LogTable logs;
  private final JobHistory history;
  private final JobFileStore files;

  public JobRemoval(Ignite ignite, JobTable jobs, JobFileStore files) {
    this.jobs = jobs;
    this.logs = new LogTable(ignite);
    this.history = new JobHistory(ignite);
    this.files = files;
  }

  /**
   * Removes a job whose row cannot be read, or is of a later version. Its row is removed first, so
   * that the nodes end its tasks, if there are any. A repeated call completes an interrupted one.
   */
  public void force(String jobId) {
    jobs.force(jobId);
    logs.removeAll(jobId);
    // The key of an invalid row may be any text, also a path to other jobs' files.
    if (ID.matcher(jobId).matches()) {
      files.remove(JobPaths.directory(jobId));
    }
  }

  /**
   * @param job the job, or its summary
   */
  public void remove(Job job) {
    files.remove(JobPaths.directory(job.getId()));
    for (Attempt attempt : history.attempts(jobs.get(job.getId()).orElse(job))) {
      for (TaskKey task : LogTable.keys(job.getId(), attempt)) {
        logs.remove(task);
        logs.removeGaps(task);
      }
    }
    jobs.remove(job);
  }
}
