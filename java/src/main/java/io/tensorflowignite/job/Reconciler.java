package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Job;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.services.ServiceDescriptor;

/**
 * Keeps job services and job table in step, from the oldest node that runs the service: a job that
 * is not over has its singleton, one that is over or gone has none, and one that has been over for
 * long is removed. Ignite loses singletons at times (two nodes lost at once, a full restart), so
 * this is asked again and again, and does not trust what it did before.
 */
public final class Reconciler {
  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final JobTable jobs;
  private final NodeTable nodes;
  private final Retention retention;
  private final JobRemoval removal;
  private final LogArchive archive;
  private final CodeStore code;
  private final IgnitePredicate<ClusterNode> nodeFilter;
  private final JobServices services;

  /**
   * @param nodeFilter where job services may live; null: on every server node.
   */
  public Reconciler(
      Ignite ignite,
      ClusterSettings settings,
      JobTable jobs,
      NodeTable nodes,
      JobRemoval removal,
      LogArchive archive,
      CodeStore code,
      JobServices services,
      IgnitePredicate<ClusterNode> nodeFilter) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(Reconciler.class);
    this.settings = settings;
    this.jobs = jobs;
    this.nodes = nodes;
    this.retention = new Retention(settings.jobRetention());
    this.removal = removal;
    this.archive = archive;
    this.code = code;
    this.services = services;
    this.nodeFilter = nodeFilter;
  }

  /**
   * Brings services and table in step, if this node is the one to do it. Does not wait for services
   * of Ignite.
   */
  public void reconcile() {
    if (!nodes.isOldest(ignite.cluster().localNode().id().toString())) {
      return;
    }
    nodes.removeDeparted();
    Map<String, ServiceDescriptor> deployed = services.deployed();
    List<Job> all = jobs.all();
    for (Job job : all) {
      String name = JobService.serviceName(job.getId());
      boolean runs = hasInstance(deployed.remove(name));
      if (JobMachine.isOver(job) == runs) {
        act(name, job);
      }
    }
    deployed.keySet().forEach(name -> act(name, null));
    archive.look(all);
    removeOverdue(all, Timestamps.fromMillis(System.currentTimeMillis()));
  }

  private void removeOverdue(List<Job> all, Timestamp now) {
    code.removeUnneeded(retention, all, now);
    for (Job job : retention.due(all, now)) {
      removal.remove(job);
      log.info(
          "Job was removed, its time of retention has passed [job="
              + job.getId()
              + ", finished="
              + Timestamps.toString(job.getFinishedAt())
              + ", retention="
              + settings.jobRetention()
              + "]");
    }
  }

  /**
   * A descriptor whose topology is empty, or names only nodes that are gone, is that of a lost
   * singleton.
   */
  private boolean hasInstance(ServiceDescriptor service) {
    return service != null
        && service.topologySnapshot().keySet().stream()
            .anyMatch(id -> ignite.cluster().node(id) != null);
  }

  private void act(String name, Job job) {
    if (services.isUnderWay(name)) {
      return;
    }
    if (job == null || JobMachine.isOver(job)) {
      log.info("Job service is no longer needed [name=" + name + "]");
      services.cancel(name);
    } else {
      log.info(
          "Job service is missing, deploying it [name=" + name + ", state=" + job.getState() + "]");
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
