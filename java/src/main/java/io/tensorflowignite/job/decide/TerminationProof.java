package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static java.util.stream.Collectors.joining;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Whether the processes of an attempt have terminated: the agent has proved it, to its node or,
 * after that was killed, to another one; or the node was stopped in order; or the node has left and
 * the lease of the attempt there has ended.
 */
final class TerminationProof {
  /**
   * The time for late events: the end of killed processes, and the other nodes' observation that
   * the node has left. Until this observation they can renew its lease.
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

  /** What a job waits for after the end of an attempt, and the remedy if it takes too long. */
  static String waitingFor(Job job, Observation observation) {
    Set<String> nodes = unprovenNodes(job, observation);
    String proof = "proof that its tasks have terminated: ";
    Duration limit = observation.timeouts.proof;
    if (waited(job, observation).compareTo(limit) < 0) {
      return nodes.stream().map(TerminationProof::name).collect(joining(", ", proof, ""));
    }
    return String.format(
        "%s%s. A node proves it within %.0f s (stop grace, two leases and 10 s), and the wait"
            + " timeout ends the job. End these processes, or start the node again; or end the job"
            + " now: tensorflow-ignite stop --force %s",
        proof, withPids(nodes, job), seconds(limit), job.getId());
  }

  /**
   * The event that ends a job if the proof of its attempt's end takes too long. A caller who stops
   * the job by force waits only for the usual time of a proof.
   */
  static Optional<JobEvent> timedOut(Job job, Observation observation) {
    Set<String> nodes = unprovenNodes(job, observation);
    JobTimeouts timeouts = observation.timeouts;
    boolean longer =
        !job.getForceStopRequested() && timeouts.assignment.compareTo(timeouts.proof) > 0;
    Duration limit = longer ? timeouts.assignment : timeouts.proof;
    Duration waited = waited(job, observation);
    if (nodes.isEmpty() || waited.compareTo(limit) < 0) {
      return Optional.empty();
    }
    return Optional.of(
        JobEvent.unproven(
            nodes,
            String.format(
                "processes of attempt %d may still run on %s: their end was not proven %.0f s after"
                    + " it was decided (%s %.0f s). These nodes get no task of any job before their"
                    + " agents have proven it. End these processes, or start the node again",
                JobMachine.attempt(job).getNumber(),
                withPids(nodes, job),
                seconds(waited),
                longer ? "wait timeout" : "stop grace, two leases and 10 s:",
                seconds(limit))));
  }

  private static Duration waited(Job job, Observation observation) {
    return observation.since(JobMachine.attempt(job).getEndingAt());
  }

  private static String name(String node) {
    return "node " + MessageText.shortId(node);
  }

  private static String withPids(Set<String> nodes, Job job) {
    return nodes.stream().map(node -> name(node) + pids(node, job)).collect(joining(", "));
  }

  /** The known processes of the tasks on a node, without the processes that these have started. */
  private static String pids(String node, Job job) {
    String pids =
        JobMachine.attempt(job).getTasksList().stream()
            .filter(task -> task.getNodeId().equals(node) && task.getStatus().getPid() != 0)
            .map(task -> String.valueOf(task.getStatus().getPid()))
            .collect(joining(", "));
    return pids.isEmpty() ? "" : " (pids " + pids + ")";
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1000.0;
  }

  private static boolean isTerminated(String node, Attempt attempt, Observation observation) {
    if (observation.nodes.contains(node)) {
      NodeReport report = observation.report(node, attempt);
      return report != null && report.getReached() == ATTEMPT_PHASE_STOP;
    }
    if (observation.terminated.contains(node)) {
      return true;
    }
    Duration limit =
        observation.leftInOrder.contains(node) ? MARGIN : observation.timeouts.lease.plus(MARGIN);
    return observation.sinceLeft(node).compareTo(limit) >= 0;
  }
}
