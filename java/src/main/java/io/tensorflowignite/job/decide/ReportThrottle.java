package io.tensorflowignite.job.decide;

import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import java.time.Duration;

/**
 * When the reports of a node on one attempt are sent. What decides is sent at once, progress at
 * most once a second, and every five seconds while no caller observes the job. A report without a
 * receipt is sent again after a second, and every report after five: the service of the job may
 * have begun anew. For one thread, except for receipts.
 */
public final class ReportThrottle {
  private static final Duration REPEAT = Duration.ofSeconds(1);
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(5);

  private NodeReport report = NodeReport.getDefaultInstance();
  private NodeReport deciding = NodeReport.getDefaultInstance();
  private String receiver = "";
  private long at;
  private volatile long confirmed = Long.MIN_VALUE;
  private volatile boolean watched;

  /**
   * Whether to send a report now; if so, it counts as sent.
   *
   * @param next the report, without a revision
   * @param nextReceiver the id of the node of the job's service; empty: none yet
   * @param nanos a monotonic clock's time, which becomes the revision of the report
   */
  public boolean isDue(NodeReport next, String nextReceiver, long nanos) {
    if (nextReceiver.isEmpty()) {
      return false;
    }
    NodeReport nextDeciding = DecidingPart.of(next);
    boolean due =
        !nextReceiver.equals(receiver)
            || !nextDeciding.equals(deciding)
            || nanos - at >= (isSoon(next) ? REPEAT : KEEP_ALIVE).toNanos();
    if (due) {
      report = next.toBuilder().setRevision(nanos).build();
      deciding = nextDeciding;
      receiver = nextReceiver;
      at = nanos;
    }
    return due;
  }

  private boolean isSoon(NodeReport next) {
    return confirmed < report.getRevision()
        || ReportMerge.checkpointStep(next.getTasksList())
            > ReportMerge.checkpointStep(report.getTasksList())
        || (watched && !next.equals(report.toBuilder().clearRevision().build()));
  }

  /** The last report that was due, with its revision. */
  public NodeReport report() {
    return report;
  }

  /** Takes the answer to a report. */
  public void confirm(ReportReceipt receipt) {
    confirmed = receipt.getRevision();
    watched = receipt.getWatched();
  }

  /** Whether a report replaces a report of the same node that the receiver has. */
  public static boolean isNewer(NodeReport report, NodeReport known) {
    return report.getAttempt() != known.getAttempt()
        ? report.getAttempt() > known.getAttempt()
        : report.getRevision() > known.getRevision();
  }
}
