package io.tensorflowignite.job;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** Looks at the cluster on behalf of one job. */
final class ClusterView {
  private static final int PROBE_TIMEOUT_MS = 300;

  private final Ignite ignite;
  private final ClusterSettings settings;
  private final ReportTable reports;
  private final Assignments assignments;

  ClusterView(Ignite ignite, ClusterSettings settings, ReportTable reports) {
    this.ignite = ignite;
    this.settings = settings;
    this.reports = reports;
    this.assignments = new Assignments(ignite, new NodeTable(ignite));
  }

  Observation look(Job job, String serviceNode) {
    Set<String> topology =
        ignite.cluster().forServers().nodes().stream()
            .map(node -> node.id().toString())
            .collect(Collectors.toSet());
    boolean placed = job.getAttemptsCount() > 0;
    Map<String, NodeReport> reported =
        placed ? reports.of(job, JobMachine.attempt(job)) : Collections.emptyMap();
    return new Observation(
        Timestamps.fromMillis(System.currentTimeMillis()),
        topology,
        placed ? dead(JobMachine.attempt(job), topology) : Collections.emptySet(),
        reported,
        assignments.take(job.getSpec(), serviceNode),
        Patience.of(job.getSpec(), settings));
  }

  private static Set<String> dead(Attempt attempt, Set<String> topology) {
    Set<String> dead = new HashSet<>();
    for (Task task : attempt.getTasksList()) {
      if (!topology.contains(task.getNodeId()) && refusesConnections(task.getNodeAddress())) {
        dead.add(task.getNodeId());
      }
    }
    return dead;
  }

  /**
   * The host answers, and no process listens there: what listened there is dead. Silence proves
   * nothing.
   */
  private static boolean refusesConnections(String address) {
    int colon = address.lastIndexOf(':');
    try (Socket socket = new Socket()) {
      socket.connect(
          new InetSocketAddress(
              address.substring(0, colon), Integer.parseInt(address.substring(colon + 1))),
          PROBE_TIMEOUT_MS);
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
