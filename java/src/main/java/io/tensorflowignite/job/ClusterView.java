package io.tensorflowignite.job;

import com.google.common.net.HostAndPort;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.job.decide.JobClock;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobTimeouts;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.Observation;
import io.tensorflowignite.settings.ClusterSettings;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** Observes the cluster for one job. */
final class ClusterView {
  private static final int PROBE_TIMEOUT_MS = 300;

  private final Ignite ignite;
  private final ClusterSettings settings;
  private final ReportTable reports;
  private final NodeTable nodes;
  private final AssignmentReader assignments;
  private final CacheLosses losses;

  ClusterView(Ignite ignite, ClusterSettings settings, ReportTable reports) {
    this.ignite = ignite;
    this.settings = settings;
    this.reports = reports;
    this.nodes = new NodeTable(ignite);
    this.assignments = new AssignmentReader(ignite, nodes);
    this.losses = new CacheLosses(ignite);
  }

  Observation observe(Job job, String serviceNode, JobClock clock) {
    Set<String> topology =
        ignite.cluster().forServers().nodes().stream()
            .map(node -> node.id().toString())
            .collect(Collectors.toSet());
    boolean placed = job.getAttemptsCount() > 0;
    Map<String, NodeReport> reported =
        placed ? reports.of(job, JobMachine.attempt(job)) : Collections.emptyMap();
    return new Observation(
        Timestamps.fromMillis(System.currentTimeMillis()),
        clock,
        topology,
        dead(job, topology),
        known(reported),
        losses.permanent(job.getSpec().getCache()),
        assignments.read(job.getSpec(), serviceNode),
        JobTimeouts.of(job.getSpec(), settings));
  }

  /** A report with values of a later version is waited for, until this service knows its values. */
  private static Map<String, NodeReport> known(Map<String, NodeReport> reported) {
    Map<String, NodeReport> known = new HashMap<>(reported);
    known.values().removeIf(report -> !KnownValues.areAll(report));
    return known;
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

  /** A node that was restarted has a new id, and the identity or address that it had before. */
  private boolean isReplaced(Node member) {
    return nodes.live().stream()
        .anyMatch(
            node ->
                node.getConsistentId().equals(member.getConsistentId())
                    || node.getAddress().equals(member.getAddress()));
  }

  /**
   * Whether the host answers and no process listens on the port, so that the node's process is
   * dead. A host that does not answer, or an address that cannot be read, proves nothing.
   */
  static boolean refusesConnections(String address) {
    try (Socket socket = new Socket()) {
      HostAndPort api = HostAndPort.fromString(address);
      if (api.hasPort()) {
        socket.connect(new InetSocketAddress(api.getHost(), api.getPort()), PROBE_TIMEOUT_MS);
      }
      return false;
    } catch (ConnectException e) {
      return String.valueOf(e.getMessage()).contains("refused");
    } catch (IOException | IllegalArgumentException e) {
      return false;
    }
  }
}
