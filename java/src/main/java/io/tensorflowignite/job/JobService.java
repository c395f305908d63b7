package io.tensorflowignite.job;

import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LocalFeed;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.resources.LoggerResource;
import org.apache.ignite.services.Service;

/**
 * One job's cluster singleton: looks at the cluster, lets {@link JobObserver} decide, and writes
 * the job's row. Whatever it knows stands in the row, so that another node can go on with it.
 * Ignite loses a singleton whose {@code init} or {@code execute} throws: neither does.
 */
public final class JobService implements Service {
  /** Every job's service name begins so. */
  public static final String NAME_PREFIX = "tensorflow-ignite-job-";

  private static final long serialVersionUID = 1L;

  /** How long a missed event can go unnoticed. */
  private static final long TICK_MS = 1_000;

  /** While a placement is looked for: the distance between two looks at the partition map. */
  private static final long PLACEMENT_TICK_MS = 100;

  private static final long ERROR_PAUSE_MS = 1_000;

  private final String jobId;
  private final ClusterSettings settings;

  @IgniteInstanceResource private transient Ignite ignite;
  @LoggerResource private transient IgniteLogger log;

  private transient Semaphore news;
  private transient volatile boolean cancelled;

  public JobService(String jobId, ClusterSettings settings) {
    this.jobId = jobId;
    this.settings = settings;
  }

  public static String serviceName(String jobId) {
    return NAME_PREFIX + jobId;
  }

  @Override
  public void init() {
    news = new Semaphore(1);
  }

  @Override
  public void execute() {
    log.info(
        "Job service started [job=" + jobId + ", node=" + ignite.cluster().localNode().id() + "]");
    while (!cancelled) {
      try {
        if (serve()) {
          return;
        }
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        if (cancelled) {
          return;
        }
        log.error("Job service goes on after an error [job=" + jobId + "]", e);
        pause();
      }
    }
  }

  @Override
  public void cancel() {
    cancelled = true;
    news.release();
  }

  /** True when the job is over. */
  private boolean serve() throws InterruptedException {
    JobTable jobs = new JobTable(ignite);
    ReportTable reports = new ReportTable(ignite);
    ClusterView cluster = new ClusterView(ignite, settings, reports);
    try (LocalFeed jobFeed = jobs.listen((id, job) -> wakeFor(id));
        LocalFeed reportFeed = reports.listen((key, report) -> wakeFor(jobOf(key)));
        TopologyEvents topology = TopologyEvents.onChange(ignite, news::release)) {
      while (!cancelled) {
        Optional<Job> row = jobs.get(jobId);
        if (!row.isPresent()) {
          // Copies of the table differ for a moment: the row may be on its way to this node. The
          // service of a job that is gone is cancelled by the reconciler.
          waitForNews(TICK_MS);
          continue;
        }
        Observation seen = cluster.look(row.get(), localNode());
        List<JobMachine.Transition> transitions = new ArrayList<>();
        Job after =
            jobs.update(
                    jobId,
                    job -> {
                      transitions.clear();
                      return JobObserver.step(hostedHere(job), seen, transitions::add);
                    })
                .orElse(row.get());
        transitions.forEach(transition -> log(transition, after));
        if (JobMachine.isOver(after)) {
          after.getAttemptsList().forEach(attempt -> reports.remove(after, attempt));
          return true;
        }
        waitForNews(isPlacing(after) ? PLACEMENT_TICK_MS : TICK_MS);
      }
    }
    return false;
  }

  private static boolean isPlacing(Job job) {
    return job.getState() == JobState.PENDING || job.getState() == JobState.RESTARTING;
  }

  /** A job that is over keeps the node that ended it: Ignite may move its service once more. */
  private Job hostedHere(Job job) {
    return JobMachine.isOver(job) ? job : job.toBuilder().setServiceNodeId(localNode()).build();
  }

  private String localNode() {
    return ignite.cluster().localNode().id().toString();
  }

  private void log(JobMachine.Transition transition, Job job) {
    log.info(
        "Job changed state [job="
            + jobId
            + ", from="
            + transition.from
            + ", event="
            + transition.event
            + ", to="
            + transition.to
            + ", attempt="
            + job.getAttemptsCount()
            + (job.getCause().isEmpty() ? "" : ", cause=" + job.getCause())
            + "]");
  }

  private void wakeFor(String id) {
    if (jobId.equals(id)) {
      news.release();
    }
  }

  private static String jobOf(String reportKey) {
    return reportKey.substring(0, reportKey.indexOf('/'));
  }

  private void waitForNews(long millis) throws InterruptedException {
    if (news.tryAcquire(millis, TimeUnit.MILLISECONDS)) {
      news.drainPermits();
    }
  }

  private void pause() {
    try {
      Thread.sleep(ERROR_PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      cancelled = true;
    }
  }
}
