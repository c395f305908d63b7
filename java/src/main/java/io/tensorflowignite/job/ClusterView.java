package io.tensorflowignite.job;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeReport;
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
  private final NodeTable nodes;
  private final Assignments assignments;

  ClusterView(Ignite ignite, ClusterSettings settings, ReportTable reports) {
    this.ignite = ignite;
    this.settings = settings;
    this.reports = reports;
    this.nodes = new NodeTable(ignite);
    this.assignments = new Assignments(ignite, nodes);
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
        dead(job, topology),
        reported,
        assignments.take(job.getSpec(), serviceNode),
        Patience.of(job.getSpec(), settings));
  }

  private Set<String> dead(Job job, Set<String> topology) {
    Set<String> dead = new HashSet<>();
    for (Node member : job.getMembersList()) {
      if (!topology.contains(member.getId())
          && (isReplaced(member) || refusesConnections(member.getAddress()))) {
        dead.add(member.getId());
      }
    }
    return dead;
  }

  /** A node that was started again has another id, and its old self's identity or port. */
  private boolean isReplaced(Node member) {
    return nodes.live().stream()
        .anyMatch(
            node ->
                node.getConsistentId().equals(member.getConsistentId())
                    || node.getAddress().equals(member.getAddress()));
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
      return String.valueOf(e.getMessage()).contains("refused");
    } catch (IOException e) {
      return false;
    }
  }
}
