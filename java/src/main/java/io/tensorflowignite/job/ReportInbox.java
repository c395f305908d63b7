package io.tensorflowignite.job;

import io.tensorflowignite.job.decide.ReportThrottle;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * The reports of nodes on the jobs that this node serves, and the jobs as their services observe
 * them. A report is a message from its node to this one, answered by a receipt; a report of a job
 * that is not served here gets none, and its node sends it again. So the reports of a running job
 * concern two nodes each, and no table.
 */
public final class ReportInbox {
  /** The topic of messages with a report. */
  public static final String REPORTS = "tensorflow-ignite-reports";

  /** The topic of messages with a proof of an agent whose node was killed, as a report. */
  private static final String TERMINATIONS = "tensorflow-ignite-terminations";

  /** The topic of messages with a receipt. */
  public static final String RECEIPTS = "tensorflow-ignite-receipts";

  /** A job is watched for this time after the last call that observed it. */
  private static final Duration WATCHED = Duration.ofSeconds(10);

  private static final Duration REPEATED = Duration.ofSeconds(30);

  private static final String KEY = "tensorflow-ignite-report-inbox";

  private final Ignite ignite;
  private final Map<String, ServedJob> jobs = new ConcurrentHashMap<>();

  /** The proofs that this node forwards, with the moment until which it repeats each of them. */
  private final Map<NodeReport, Long> proofs = new ConcurrentHashMap<>();

  private final Map<CauseKind, Long> restarts = new ConcurrentHashMap<>();

  private ReportInbox(Ignite ignite) {
    this.ignite = ignite;
  }

  /** The one of a node: it takes reports from the first call until the node stops. */
  public static ReportInbox of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, ReportInbox>nodeLocalMap()
        .computeIfAbsent(KEY, key -> listening(ignite));
  }

  private static ReportInbox listening(Ignite ignite) {
    ReportInbox inbox = new ReportInbox(ignite);
    NodeMessages.listen(ignite, REPORTS, NodeReport.parser(), inbox::add);
    NodeMessages.listen(ignite, TERMINATIONS, NodeReport.parser(), inbox::addProof);
    return inbox;
  }

  /** The reports on one job that this node serves. */
  final class ServedJob implements AutoCloseable {
    private final String jobId;
    private final Runnable wake;

    /** By node. */
    private final Map<String, NodeReport> reports = new ConcurrentHashMap<>();

    /** By node: the attempt whose end its agent has proved. */
    private final Map<String, Integer> terminated = new ConcurrentHashMap<>();

    private volatile Job observed;
    private volatile long watchedAt = System.nanoTime() - WATCHED.toNanos();

    private ServedJob(String jobId, Runnable wake) {
      this.jobId = jobId;
      this.wake = wake;
    }

    /** The newest report of each node on an attempt, by node. */
    Map<String, NodeReport> of(Attempt attempt) {
      reports.values().removeIf(report -> report.getAttempt() < attempt.getNumber());
      return new HashMap<>(reports);
    }

    /** The nodes whose agents have proved the end of an attempt after the nodes were killed. */
    Set<String> terminated(int attempt) {
      terminated.values().removeIf(number -> number < attempt);
      return terminated.entrySet().stream()
          .filter(entry -> entry.getValue() == attempt)
          .map(Map.Entry::getKey)
          .collect(Collectors.toSet());
    }

    /** Sets the job with what its service knows from reports, for callers who observe it. */
    void observed(Job job) {
      observed = job;
    }

    private boolean isWatched() {
      return System.nanoTime() - watchedAt < WATCHED.toNanos();
    }

    private void add(NodeReport report) {
      NodeReport newest =
          reports.merge(
              report.getNodeId(),
              report,
              (known, added) -> ReportThrottle.isNewer(added, known) ? added : known);
      if (newest == report) {
        wake.run();
      }
    }

    @Override
    public void close() {
      jobs.remove(jobId, this);
    }
  }

  /**
   * Begins to take the reports on a job.
   *
   * @param wake is called after each new report, and returns at once
   */
  ServedJob serve(String jobId, Runnable wake) {
    ServedJob job = new ServedJob(jobId, wake);
    jobs.put(jobId, job);
    return job;
  }

  /** A job as its service observes it, if this node serves it; marks it as watched. */
  public Optional<Job> observe(String jobId) {
    ServedJob job = jobs.get(jobId);
    if (job == null) {
      return Optional.empty();
    }
    job.watchedAt = System.nanoTime();
    return Optional.ofNullable(job.observed);
  }

  /** The jobs that this node serves, as their services observe them; marks none as watched. */
  List<Job> served() {
    return jobs.values().stream()
        .map(job -> job.observed)
        .filter(Objects::nonNull)
        .collect(Collectors.toList());
  }

  /** Counts an attempt that has ended while its job goes on. */
  void restarted(CauseKind cause) {
    restarts.merge(cause, 1L, Long::sum);
  }

  /** The number of attempts that have ended while this node served their jobs, by cause. */
  Map<CauseKind, Long> restarts() {
    return restarts;
  }

  private void add(UUID sender, NodeReport report) {
    ServedJob job = jobs.get(report.getJobId());
    if (job != null && report.getNodeId().equals(sender.toString())) {
      job.add(report);
      confirm(sender, report, job.isWatched());
    }
  }

  /**
   * Forwards the proof of an agent, whose node was killed, to the node that serves the job. The
   * service may have been on the killed node: so {@link #repeatProofs} does it again for a while.
   */
  public void forward(NodeReport proof, String servingNode) {
    proofs.put(proof, System.nanoTime() + REPEATED.toNanos());
    send(proof, servingNode);
  }

  /**
   * Sends the proofs of the last seconds again.
   *
   * @param servingNode the id of the node that serves a job; empty: none
   */
  public void repeatProofs(UnaryOperator<String> servingNode) {
    proofs.values().removeIf(end -> System.nanoTime() - end > 0);
    proofs.keySet().forEach(proof -> send(proof, servingNode.apply(proof.getJobId())));
  }

  private void send(NodeReport proof, String servingNode) {
    if (!servingNode.isEmpty()) {
      NodeMessages.send(ignite, UUID.fromString(servingNode), TERMINATIONS, proof.toByteArray());
    }
  }

  private void addProof(UUID sender, NodeReport proof) {
    ServedJob job = jobs.get(proof.getJobId());
    if (job != null) {
      job.terminated.merge(proof.getNodeId(), proof.getAttempt(), Math::max);
      job.wake.run();
    }
  }

  private void confirm(UUID sender, NodeReport report, boolean watched) {
    ReportReceipt receipt =
        ReportReceipt.newBuilder()
            .setJobId(report.getJobId())
            .setAttempt(report.getAttempt())
            .setRevision(report.getRevision())
            .setWatched(watched)
            .build();
    NodeMessages.send(ignite, sender, RECEIPTS, receipt.toByteArray());
  }
}
