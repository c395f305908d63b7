package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Whether the processes of an attempt have terminated: the agent has proved it, or the node was
 * stopped in order, or the node has left and the lease of the attempt there has ended.
 */
final class TerminationProof {
  /**
   * The time for what may come late: the end of killed processes, and the other nodes' observation
   * that the node has left, until which they can renew its lease.
   */
  private static final Duration MARGIN = Duration.ofMillis(1500);

  private TerminationProof() {}

  /**
   * The nodes on which tasks of the newest attempt may still run although the attempt has ended.
   */
  static Set<String> unprovenNodes(Job job, Observation observation) {
    Attempt attempt = JobMachine.attempt(job);
    return attempt.getTasksList().stream()
        .map(Task::getNodeId)
        .filter(node -> !isTerminated(node, attempt, observation))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean isTerminated(String node, Attempt attempt, Observation observation) {
    if (observation.nodes.contains(node)) {
      NodeReport report = observation.report(node, attempt);
      return report != null && report.getReached() == ATTEMPT_PHASE_STOP;
    }
    Duration limit =
        observation.leftInOrder.contains(node) ? MARGIN : observation.timeouts.lease.plus(MARGIN);
    return observation.sinceLeft(node).compareTo(limit) >= 0;
  }
}
