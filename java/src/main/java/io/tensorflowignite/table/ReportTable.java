package io.tensorflowignite.table;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** What nodes report of the attempts that they take part in, one row for each node and attempt. */
public final class ReportTable {
  private final IgniteCache<String, byte[]> cache;

  public ReportTable(Ignite ignite) {
    this.cache = SystemCache.REPORTS.open(ignite);
  }

  public void put(NodeReport report) {
    cache.put(
        key(report.getJobId(), report.getAttempt(), report.getNodeId()), report.toByteArray());
  }

  /**
   * The reports of the nodes that have tasks in the attempt, by node; nodes that reported nothing
   * are absent.
   */
  public Map<String, NodeReport> of(Job job, Attempt attempt) {
    Map<String, NodeReport> reports = new HashMap<>();
    for (String node : nodes(attempt)) {
      byte[] bytes = cache.get(key(job.getId(), attempt.getNumber(), node));
      if (bytes != null) {
        reports.put(node, Messages.parse(NodeReport.parser(), bytes, SystemCache.REPORTS));
      }
    }
    return reports;
  }

  /** What a node has reported of an attempt. */
  public Optional<NodeReport> get(String jobId, int attempt, String nodeId) {
    return Optional.ofNullable(
        Messages.parse(
            NodeReport.parser(), cache.get(key(jobId, attempt, nodeId)), SystemCache.REPORTS));
  }

  public void remove(Job job, Attempt attempt) {
    cache.removeAll(
        nodes(attempt).stream()
            .map(node -> key(job.getId(), attempt.getNumber(), node))
            .collect(Collectors.toSet()));
  }

  public LocalFeed listen(BiConsumer<String, NodeReport> listener) {
    return LocalFeed.open(cache, SystemCache.REPORTS, NodeReport.parser(), listener);
  }

  private static Set<String> nodes(Attempt attempt) {
    return attempt.getTasksList().stream().map(Task::getNodeId).collect(Collectors.toSet());
  }

  private static String key(String job, int attempt, String node) {
    return job + "/" + attempt + "/" + node;
  }
}
