package io.tensorflowignite.job;

import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Whether the processes of an attempt are gone. Gone means: the agent proved it, or the node's
 * process is dead, or the node has left and its lease has run out.
 */
final class Gone {
  /**
   * An agent whose node's process has died kills its tasks at once; so long it is given for that.
   */
  private static final Duration DEAD_NODE_MARGIN = Duration.ofMillis(1500);

  private Gone() {}

  /** The nodes of the newest attempt whose tasks may still run, though the attempt is over. */
  static Set<String> awaited(Job job, Observation seen) {
    Attempt attempt = JobMachine.attempt(job);
    return attempt.getTasksList().stream()
        .map(Task::getNodeId)
        .filter(node -> !isGone(node, attempt, seen))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean isGone(String node, Attempt attempt, Observation seen) {
    if (seen.nodes.contains(node)) {
      NodeReport report = seen.report(node, attempt);
      return report != null && report.getReached() == AttemptPhase.STOP;
    }
    Duration since =
        Duration.ofMillis(Durations.toMillis(Timestamps.between(attempt.getEndingAt(), seen.now)));
    return since.compareTo(seen.dead.contains(node) ? DEAD_NODE_MARGIN : seen.patience.lease) >= 0;
  }
}
