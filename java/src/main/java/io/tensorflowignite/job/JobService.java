package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;

import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.job.decide.JobClock;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobObserver;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.Observation;
import io.tensorflowignite.job.decide.RowWrites;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.LocalFeed;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.resources.LoggerResource;
import org.apache.ignite.services.Service;

/**
 * One job's cluster singleton: observes the cluster, lets {@link JobObserver} decide, and writes
 * the job's row. All its state is in the row, so that another node can continue. {@code init} and
 * {@code execute} never throw: Ignite loses a singleton whose method throws. {@code execute} does
 * not return before its job is over: Ignite counts an ended service as deployed.
 */
public final class JobService implements Service {
  /** The start of the name of every job's service. */
  public static final String NAME_PREFIX = "tensorflow-ignite-job-";

  private static final long serialVersionUID = 1L;

  /** The longest delay after a missed event. */
  private static final long TICK_MS = 1_000;

  /** The interval between reads of the partition map while the job waits for a placement. */
  private static final long PLACEMENT_TICK_MS = 100;

  private static final Duration ERROR_PAUSE = Duration.ofSeconds(1);
  private static final Duration PASS_LIMIT = Duration.ofSeconds(60);

  private final String jobId;
  private final ClusterSettings settings;

  @IgniteInstanceResource private transient Ignite ignite;
  @LoggerResource private transient IgniteLogger log;

  private transient Semaphore changes;
  private transient JobClock clock;
  private transient RowWrites writes;
  private transient volatile boolean cancelled;
  private transient volatile boolean jobEnded;

  public JobService(String jobId, ClusterSettings settings) {
    this.jobId = jobId;
    this.settings = settings;
  }

  public static String serviceName(String jobId) {
    return NAME_PREFIX + jobId;
  }

  @Override
  public void init() {
    changes = new Semaphore(1);
    clock = new JobClock(System::nanoTime);
    writes = new RowWrites(System.nanoTime());
  }

  @Override
  public void execute() {
    log.info(
        "Job service started [job=" + jobId + ", node=" + ignite.cluster().localNode().id() + "]");
    Loop loop =
        Loops.of(ignite).continuous("job " + jobId, PASS_LIMIT, () -> cancelled || jobEnded);
    loop.run(ERROR_PAUSE, () -> serve(loop));
  }

  @Override
  public void cancel() {
    cancelled = true;
    changes.release();
  }

  /** Returns when the job has ended, or the service was cancelled. */
  private void serve(Loop loop) throws InterruptedException {
    JobTable jobs = new JobTable(ignite);
    JobTable.Reader rows = jobs.reader(jobId);
    ClusterView cluster = new ClusterView(ignite, settings);
    try (LocalFeed jobFeed = jobs.listen(this::wakeFor);
        ReportInbox.ServedJob inbox = ReportInbox.of(ignite).serve(jobId, changes::release);
        TopologyEvents topology = TopologyEvents.onChange(ignite, changes::release)) {
      while (!cancelled) {
        loop.alive();
        Optional<Job> row = rows.read().filter(KnownValues::areAll);
        if (!row.isPresent()) {
          // Copies of the table differ for a moment: the row may not have reached this node yet.
          // The reconciler cancels the service of a removed job, and of a job whose row is
          // unreadable. A row with values of a later version waits for a node of that version.
          awaitChange(TICK_MS);
          continue;
        }
        Map<String, NodeReport> reports = reports(row.get(), inbox);
        Set<String> terminated = inbox.terminated(JobMachine.attemptNumber(row.get()));
        Observation observation =
            cluster.observe(row.get(), reports, terminated, localNode(), clock);
        Job after = decide(jobs, cluster, row.get(), observation);
        inbox.observed(after);
        if (JobMachine.isFinal(after)) {
          jobEnded = true;
          return;
        }
        awaitChange(
            isPlacing(after) && !observation.waitsForOthers() ? PLACEMENT_TICK_MS : TICK_MS);
      }
    }
  }

  private static Map<String, NodeReport> reports(Job job, ReportInbox.ServedJob inbox) {
    return job.getAttemptsCount() == 0 ? Map.of() : inbox.of(JobMachine.attempt(job));
  }

  /**
   * Writes the row that follows from the observation, if {@link RowWrites} says so. If this node's
   * copy of the row is old, the arrival of the newer row wakes this loop again. A change of the
   * topology, for which the transaction has waited, also wakes it.
   *
   * @return the job as it is now, including changes that are not stored
   */
  private Job decide(JobTable jobs, ClusterView cluster, Job row, Observation observation) {
    List<JobMachine.Transition> transitions = new ArrayList<>();
    Job observed = JobObserver.step(hostedHere(row), observation, transitions::add);
    if (!writes.isDue(row, observed, !transitions.isEmpty(), System.nanoTime())) {
      return observed;
    }
    if (JobMachine.isFinal(observed)
        && !JobMachine.isFinal(row)
        && observed.getAttemptsCount() > 0) {
      // Before the row says that the job is over: a caller that waits for this uses its models
      // then.
      ExportedModels.of(ignite).settle(observed);
    }
    Job after =
        jobs.update(
                jobId,
                job -> {
                  transitions.clear();
                  return KnownValues.areAll(job) && cluster.isCurrent(observation)
                      ? JobObserver.step(hostedHere(job), observation, transitions::add)
                      : job;
                })
            .orElse(row);
    for (JobMachine.Transition transition : transitions) {
      log(transition, after);
      if (transition.to == JOB_STATE_RESTARTING && transition.from != JOB_STATE_RESTARTING) {
        ReportInbox.of(ignite).restarted(JobMachine.attempt(after).getCauseKind());
      }
    }
    return after;
  }

  private static boolean isPlacing(Job job) {
    return job.getState() == JOB_STATE_PENDING || job.getState() == JOB_STATE_RESTARTING;
  }

  /** A finished job keeps the node that ended it: Ignite may move its service afterwards. */
  private Job hostedHere(Job job) {
    return JobMachine.isFinal(job) ? job : job.toBuilder().setServiceNodeId(localNode()).build();
  }

  private String localNode() {
    return ignite.cluster().localNode().id().toString();
  }

  private void log(JobMachine.Transition transition, Job job) {
    log.info(
        String.format(
            "Job changed state [job=%s, from=%s, event=%s, to=%s, attempt=%d%s]",
            jobId,
            MessageText.name(transition.from),
            transition.event,
            MessageText.name(transition.to),
            JobMachine.attemptNumber(job),
            job.getCause().isEmpty() ? "" : ", cause=" + job.getCause()));
  }

  private void wakeFor(String id) {
    if (jobId.equals(id)) {
      changes.release();
    }
  }

  private void awaitChange(long millis) throws InterruptedException {
    if (changes.tryAcquire(millis, TimeUnit.MILLISECONDS)) {
      changes.drainPermits();
    }
  }
}
