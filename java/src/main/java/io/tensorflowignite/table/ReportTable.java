package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * The reports of nodes on the tasks of attempts whose jobs have rows of the earlier layout: one row
 * for each node and attempt. Other reports are messages.
 */
public final class ReportTable {
  private final Rows rows;

  public ReportTable(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.REPORTS);
  }

  public void put(NodeReport report) {
    rows.put(Purpose.DECISION, key(report), report.toByteArray(), "a report");
  }

  /**
   * The reports of the nodes that have tasks in the attempt, by node id. Nodes without a report are
   * absent.
   */
  public Map<String, NodeReport> of(Job job, Attempt attempt) {
    Map<String, NodeReport> reports = new HashMap<>();
    for (String node : nodes(attempt)) {
      get(job.getId(), attempt.getNumber(), node).ifPresent(report -> reports.put(node, report));
    }
    return reports;
  }

  /** The report of one node on an attempt; empty: there is none, or its row is unreadable. */
  public Optional<NodeReport> get(String jobId, int attempt, String nodeId) {
    String key = key(jobId, attempt, nodeId);
    return Rows.read(NodeReport.parser(), rows.get(key), report -> key(report).equals(key));
  }

  public void remove(Job job, Attempt attempt) {
    rows.cache()
        .removeAll(
            nodes(attempt).stream()
                .map(node -> key(job.getId(), attempt.getNumber(), node))
                .collect(Collectors.toSet()));
  }

  /** Removes all reports of a job whose attempts are not known. */
  public void removeAll(String jobId) {
    Set<Object> keys = new HashSet<>();
    rows.forEachLocal(
        (key, value) -> {
          if (Rows.text(key).equals(jobId) || Rows.text(key).startsWith(jobId + "/")) {
            keys.add(key);
          }
        });
    rows.cache().removeAll(keys);
  }

  private static String key(NodeReport report) {
    return key(report.getJobId(), report.getAttempt(), report.getNodeId());
  }

  private static Set<String> nodes(Attempt attempt) {
    return attempt.getTasksList().stream().map(Task::getNodeId).collect(Collectors.toSet());
  }

  private static String key(String job, int attempt, String node) {
    return job + "/" + attempt + "/" + node;
  }
}
