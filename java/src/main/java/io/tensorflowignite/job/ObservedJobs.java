package io.tensorflowignite.job;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.table.JobSummary;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;

/**
 * The jobs as their services observe them: a job's row does not have the progress of its tasks, so
 * the node that serves the job is called for it when a caller observes the job. A node that does
 * not answer in time costs a caller the progress only.
 */
public final class ObservedJobs implements AutoCloseable {
  private static final Duration WAIT = Duration.ofSeconds(1);
  private static final int MAX_THREADS = 32;

  private final Ignite ignite;
  private final String serviceName;
  private final String nodeId;
  private final ReportInbox inbox;
  private final ExecutorService calls;

  /**
   * @param serviceName the name under which the service is deployed, which implements {@link
   *     JobView}
   */
  public ObservedJobs(Ignite ignite, String serviceName) {
    this.ignite = ignite;
    this.serviceName = serviceName;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.inbox = ReportInbox.of(ignite);
    this.calls = IdleThreads.pool("tensorflow-ignite-observe-%d", MAX_THREADS);
  }

  /** Answers for this node, see {@link JobView}. */
  public byte[][] observe(String[] jobIds, boolean summaries) {
    return Arrays.stream(jobIds)
        .map(inbox::observe)
        .map(job -> job.map(found -> summaries ? JobSummary.of(found) : found))
        .map(job -> job.map(Job::toByteArray).orElse(null))
        .toArray(byte[][]::new);
  }

  /** A job as its service observes it; empty: it has no service, or no answer came in time. */
  public Optional<Job> of(Job row) {
    return Optional.ofNullable(of(List.of(row), false).get(row.getId()));
  }

  /** Of each job that its service observes now: its summary, by id. */
  public Map<String, Job> summaries(Collection<Job> rows) {
    return of(rows, true);
  }

  private Map<String, Job> of(Collection<Job> rows, boolean summaries) {
    Map<String, List<Job>> byNode =
        rows.stream()
            .filter(KnownValues::areAll)
            .filter(row -> !JobMachine.isFinal(row))
            .filter(row -> !row.getServiceNodeId().isEmpty())
            .collect(Collectors.groupingBy(Job::getServiceNodeId));
    Map<String, Job> observed = new HashMap<>();
    List<Future<Map<String, Job>>> pending = new ArrayList<>();
    byNode.forEach(
        (node, jobs) -> {
          if (node.equals(nodeId)) {
            observed.putAll(read(jobs, observe(ids(jobs), summaries)));
          } else {
            pending.add(calls.submit(() -> call(node, jobs, summaries)));
          }
        });
    long end = System.nanoTime() + WAIT.toNanos();
    for (Future<Map<String, Job>> call : pending) {
      observed.putAll(result(call, end));
    }
    return observed;
  }

  private static Map<String, Job> result(Future<Map<String, Job>> call, long end) {
    try {
      return call.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | CancellationException | TimeoutException noAnswer) {
      call.cancel(true);
    }
    return Map.of();
  }

  private Map<String, Job> call(String node, List<Job> jobs, boolean summaries) {
    ClusterNode server = ignite.cluster().node(UUID.fromString(node));
    if (server == null) {
      return Map.of();
    }
    try {
      JobView view =
          ignite
              .services(ignite.cluster().forNode(server))
              .serviceProxy(serviceName, JobView.class, false, WAIT.toMillis());
      return read(jobs, view.observe(ids(jobs), summaries));
    } catch (IgniteException e) {
      // The node leaves, or is of an earlier version.
      return Map.of();
    }
  }

  private static String[] ids(List<Job> jobs) {
    return jobs.stream().map(Job::getId).toArray(String[]::new);
  }

  private static Map<String, Job> read(List<Job> rows, byte[][] answers) {
    Map<String, Job> observed = new HashMap<>();
    for (int i = 0; i < rows.size(); i++) {
      if (answers[i] != null) {
        read(rows.get(i), answers[i]).ifPresent(job -> observed.put(job.getId(), job));
      }
    }
    return observed;
  }

  /** The row may be newer than the last pass of its service. */
  private static Optional<Job> read(Job row, byte[] answer) {
    try {
      Job observed = Job.parseFrom(answer);
      boolean isOlder =
          JobMachine.attemptNumber(observed) < JobMachine.attemptNumber(row)
              || (observed.getEventsCount() > 0 && lastEvent(observed) < lastEvent(row))
              || (row.getStopRequested() && !observed.getStopRequested());
      return isOlder ? Optional.empty() : Optional.of(observed);
    } catch (InvalidProtocolBufferException e) {
      return Optional.empty();
    }
  }

  private static long lastEvent(Job job) {
    return job.getEventsCount() == 0 ? 0 : job.getEvents(job.getEventsCount() - 1).getNumber();
  }

  @Override
  public void close() {
    calls.shutdownNow();
  }
}
