package io.tensorflowignite.agent;

import io.tensorflowignite.job.NodeMessages;
import io.tensorflowignite.job.ReportInbox;
import io.tensorflowignite.job.decide.ReportThrottle;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ignite.Ignite;

/**
 * Sends the reports of this node to the nodes of the jobs' services, when {@link ReportThrottle}
 * says so. For one thread, except for receipts.
 */
final class ReportSender {
  private final Ignite ignite;
  private final Map<String, ReportThrottle> sent = new ConcurrentHashMap<>();

  ReportSender(Ignite ignite) {
    this.ignite = ignite;
  }

  /** Takes the receipts; the result ends this. */
  Runnable listen() {
    return NodeMessages.listen(
        ignite,
        ReportInbox.RECEIPTS,
        ReportReceipt.parser(),
        (sender, receipt) -> confirm(receipt));
  }

  /**
   * Sends a report if it is due.
   *
   * @param report the state of this node's tasks, without a revision
   * @param receiver the id of the node of the job's service; empty: none yet
   */
  void offer(NodeReport report, String receiver) {
    ReportThrottle throttle =
        sent.computeIfAbsent(
            id(report.getJobId(), report.getAttempt()), id -> new ReportThrottle());
    // Revisions are also higher than any revision of an earlier service of this node.
    if (throttle.isDue(report, receiver, System.nanoTime())) {
      NodeMessages.send(
          ignite, UUID.fromString(receiver), ReportInbox.REPORTS, throttle.report().toByteArray());
    }
  }

  private void confirm(ReportReceipt receipt) {
    ReportThrottle throttle = sent.get(id(receipt.getJobId(), receipt.getAttempt()));
    if (throttle != null) {
      throttle.confirm(receipt);
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
