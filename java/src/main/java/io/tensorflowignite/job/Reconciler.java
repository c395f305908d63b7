package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.RetentionPolicy;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * Makes the services of jobs follow the job table, on the oldest node that runs the service: an
 * unfinished job has its singleton unless it waits in the queue, a finished or removed job has
 * none, and a job is removed when its retention has ended. Ignite may lose singletons (two nodes
 * lost at once, a full restart), so each call compares anew and relies on no earlier result.
 */
public final class Reconciler {
  private static final Duration LONGEST_RETENTION_INTERVAL = Duration.ofMinutes(1);

  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final JobTable jobs;
  private final JobIndex index;
  private final NodeTable nodes;
  private final RetentionPolicy retention;
  private final JobRemoval removal;
  private final LogArchive archive;
  private final CodeStore code;
  private final IgnitePredicate<ClusterNode> nodeFilter;
  private final JobServices services;
  private final JobAdmission admission;
  private final Loop loop;
  private final Duration retentionInterval;
  private long retainedAt = System.nanoTime() - LONGEST_RETENTION_INTERVAL.toNanos();

  /**
   * @param nodeFilter the nodes that may host jobs' services; null: every server node. It is the
   *     filter of TensorFlowService: a filter class of this jar would fail on nodes without the
   *     jar.
   */
  public Reconciler(
      Ignite ignite,
      ClusterSettings settings,
      JobTable jobs,
      JobIndex index,
      NodeTable nodes,
      JobRemoval removal,
      LogArchive archive,
      CodeStore code,
      JobServices services,
      JobAdmission admission,
      IgnitePredicate<ClusterNode> nodeFilter,
      Loop loop) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(Reconciler.class);
    this.settings = settings;
    this.jobs = jobs;
    this.index = index;
    this.nodes = nodes;
    this.retention = new RetentionPolicy(settings.jobRetention);
    this.retentionInterval = retention.interval(LONGEST_RETENTION_INTERVAL);
    this.removal = removal;
    this.archive = archive;
    this.code = code;
    this.services = services;
    this.admission = admission;
    this.nodeFilter = nodeFilter;
    this.loop = loop;
  }

  /**
   * Deploys and cancels services and removes overdue jobs, if this node is the oldest. Does not
   * wait for Ignite's services. Each job stands alone.
   */
  public void reconcile() throws InterruptedException {
    List<Job> current = index.current();
    if (!nodes.isOldest(ignite.cluster().localNode().id().toString())) {
      return;
    }
    nodes.removeDeparted();
    Map<String, ServiceDescriptor> deployed = services.deployed();
    Set<String> waiting = new HashSet<>();
    loop.part("queue", () -> waiting.addAll(admission.admit(current).keySet()));
    for (Job job : current) {
      ServiceDescriptor service = deployed.remove(JobService.serviceName(job.getId()));
      if (!KnownValues.isOfLaterVersion(job) && !waiting.contains(job.getId())) {
        loop.part("job " + job.getId(), () -> reconcile(job, hasInstance(service)));
      }
    }
    for (String name : deployed.keySet()) {
      loop.part(name, () -> act(name, null));
    }
    loop.part("output", () -> archive.poll(current));
    if (System.nanoTime() - retainedAt > retentionInterval.toNanos()) {
      loop.part("retention", this::removeOverdue);
      retainedAt = System.nanoTime();
    }
  }

  private void reconcile(Job job, boolean runs) {
    if (isOver(job) == runs) {
      act(JobService.serviceName(job.getId()), job);
    }
  }

  /** A job whose row is unreadable needs no service: no decision about it is possible. */
  private static boolean isOver(Job job) {
    return JobMachine.isFinal(job) || job.getState() == JobState.JOB_STATE_UNREADABLE;
  }

  private void removeOverdue() throws InterruptedException {
    List<Job> all = index.all();
    Timestamp now = Timestamps.fromMillis(System.currentTimeMillis());
    code.removeUnused(retention, all, now);
    for (Job job : retention.due(all, now)) {
      loop.part("job " + job.getId(), () -> removeOverdue(job));
    }
  }

  private void removeOverdue(Job job) {
    removal.remove(job);
    log.info(
        String.format(
            "Job was removed, its retention has ended [job=%s, finished=%s, retention=%s]",
            job.getId(), Timestamps.toString(job.getFinishedAt()), settings.jobRetention));
  }

  /**
   * Whether the singleton runs. It is lost if its topology is empty or names only nodes that have
   * left.
   */
  private boolean hasInstance(ServiceDescriptor service) {
    return service != null
        && service.topologySnapshot().keySet().stream()
            .anyMatch(id -> ignite.cluster().node(id) != null);
  }

  private void act(String name, Job job) {
    if (services.isPending(name)) {
      return;
    }
    if (job == null || isOver(job)) {
      log.info("Job service is no longer needed [name=" + name + "]");
      services.cancel(name);
    } else {
      log.info(
          "Job service is missing, deploying it [name="
              + name
              + ", state="
              + MessageText.name(job.getState())
              + "]");
      ServiceConfiguration service = new ServiceConfiguration();
      service.setName(name);
      service.setTotalCount(1);
      service.setMaxPerNodeCount(1);
      service.setNodeFilter(nodeFilter);
      service.setService(new JobService(job.getId(), settings));
      services.deploy(service);
    }
  }
}
