package io.tensorflowignite.job;

import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.TaskKey;
import org.apache.ignite.Ignite;

/**
 * Removes a job that is over with all that it has left; its code goes when no other job needs it.
 * The row goes last: who is interrupted, or does it at the same time as another, leaves nothing
 * that could not be found again.
 */
public final class JobRemoval {
  private final JobTable jobs;
  private final ReportTable reports;
  private final LogTable logs;
  private final JobStore files;

  public JobRemoval(Ignite ignite, JobTable jobs, JobStore files) {
    this.jobs = jobs;
    this.reports = new ReportTable(ignite);
    this.logs = new LogTable(ignite);
    this.files = files;
  }

  public void remove(Job job) {
    files.remove(JobFiles.directory(job.getId()));
    for (TaskKey task : LogTable.keys(job)) {
      logs.remove(task);
      logs.removeGap(task);
    }
    job.getAttemptsList().forEach(attempt -> reports.remove(job, attempt));
    jobs.remove(job.getId());
  }
}
