package io.tensorflowignite.agent;

import com.google.protobuf.InvalidProtocolBufferException;
import io.tensorflowignite.job.ReportInbox;
import io.tensorflowignite.job.decide.DecidingPart;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgniteBiPredicate;

/**
 * Sends the reports of this node to the nodes of the jobs' services. What decides is sent at once,
 * progress at most once a second, and every five seconds while no caller observes the job. A report
 * without a receipt is sent again after a second, and every report after five: the service of the
 * job may have begun anew. For one thread, except for receipts.
 */
final class ReportSender {
  private static final Duration REPEAT = Duration.ofSeconds(1);
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);

  private final Ignite ignite;
  private final Map<String, Sent> sent = new ConcurrentHashMap<>();

  /** The receipts that this node takes, until it is closed. */
  interface Receipts extends AutoCloseable {
    @Override
    void close();
  }

  /** The last report on an attempt. */
  private static final class Sent {
    NodeReport report = NodeReport.getDefaultInstance();
    NodeReport deciding = NodeReport.getDefaultInstance();
    String receiver = "";
    long at;
    volatile long confirmed = Long.MIN_VALUE;
    volatile boolean watched;

    boolean isDue(NodeReport next, NodeReport nextDeciding, String nextReceiver) {
      if (!nextReceiver.equals(receiver) || !nextDeciding.equals(deciding)) {
        return true;
      }
      boolean soon =
          confirmed < report.getRevision()
              || DecidingPart.checkpointStep(next) > DecidingPart.checkpointStep(report)
              || (watched && !next.toBuilder().clearRevision().build().equals(withoutRevision()));
      return System.nanoTime() - at >= (soon ? REPEAT : KEEP_ALIVE).toNanos();
    }

    private NodeReport withoutRevision() {
      return report.toBuilder().clearRevision().build();
    }
  }

  ReportSender(Ignite ignite) {
    this.ignite = ignite;
  }

  /** Takes the receipts; the result closes this. */
  Receipts listen() {
    IgniteBiPredicate<UUID, Object> listener =
        (sender, message) -> {
          receipt(message);
          return true;
        };
    ignite.message().localListen(ReportInbox.RECEIPTS, listener);
    return () -> ignite.message().stopLocalListen(ReportInbox.RECEIPTS, listener);
  }

  /**
   * Sends a report if it is due.
   *
   * @param report the state of this node's tasks, without a revision
   * @param receiver the id of the node of the job's service; empty: none yet
   */
  void offer(NodeReport report, String receiver) {
    Sent last = sent.computeIfAbsent(id(report.getJobId(), report.getAttempt()), id -> new Sent());
    NodeReport deciding = DecidingPart.of(report);
    if (receiver.isEmpty() || !last.isDue(report, deciding, receiver)) {
      return;
    }
    // Higher than those of an earlier service of this node too.
    NodeReport next = report.toBuilder().setRevision(System.nanoTime()).build();
    last.report = next;
    last.deciding = deciding;
    last.receiver = receiver;
    last.at = System.nanoTime();
    send(next, receiver);
  }

  private void send(NodeReport report, String receiver) {
    ClusterNode node = ignite.cluster().node(UUID.fromString(receiver));
    if (node == null) {
      return;
    }
    try {
      ignite
          .message(ignite.cluster().forNode(node))
          .send(ReportInbox.REPORTS, report.toByteArray());
    } catch (IgniteException e) {
      // The node leaves; without a receipt the report is sent again.
      return;
    }
  }

  private void receipt(Object message) {
    try {
      ReportReceipt receipt = ReportReceipt.parseFrom((byte[]) message);
      Sent last = sent.get(id(receipt.getJobId(), receipt.getAttempt()));
      if (last != null) {
        last.confirmed = receipt.getRevision();
        last.watched = receipt.getWatched();
      }
    } catch (InvalidProtocolBufferException | ClassCastException e) {
      // No node of this version sends such a message.
      return;
    }
  }

  /** Forgets all other attempts. */
  void retain(Set<String> ids) {
    sent.keySet().retainAll(ids);
  }

  static String id(String job, int attempt) {
    return job + "/" + attempt;
  }
}
