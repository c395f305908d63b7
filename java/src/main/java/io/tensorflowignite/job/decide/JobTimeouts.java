package io.tensorflowignite.job.decide;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.v1.JobSpec;
import java.time.Duration;

/** The timeouts of one job: from its specification, else from the cluster's settings. */
public final class JobTimeouts {
  /**
   * From the kill of an agent that does not answer until the next one has answered, see {@link
   * #proof}.
   */
  private static final Duration AGENT_RESTART = Duration.ofSeconds(10);

  /** From the placement of an attempt until every task runs. */
  final Duration start;

  /** How long an attempt waits for enough room on the nodes to start. */
  final Duration assignment;

  /** After this time without a heartbeat of its node, an agent has killed its tasks. */
  final Duration lease;

  /**
   * How long the proof of an attempt's end takes at most on a node that works. An agent kills the
   * tasks at the end of the grace. An agent that does not answer is killed after two leases, and
   * the next agent proves the end.
   */
  final Duration proof;

  /** How long the primary partitions must stay unchanged before tasks follow them. */
  final Duration quiet;

  /** After this time without a crash, earlier crashes are no longer counted. */
  final Duration healthy;

  /** The longest time for a planned end, and between SIGTERM and SIGKILL. */
  final Duration grace;

  private JobTimeouts(
      Duration start,
      Duration assignment,
      Duration lease,
      Duration grace,
      Duration quiet,
      Duration healthy) {
    this.start = start;
    this.assignment = assignment;
    this.lease = lease;
    this.proof = grace.plus(lease).plus(lease).plus(AGENT_RESTART);
    this.quiet = quiet;
    this.healthy = healthy;
    this.grace = grace;
  }

  public static JobTimeouts of(JobSpec spec, ClusterSettings settings) {
    return new JobTimeouts(
        spec.getTimeouts().hasStart()
            ? duration(spec.getTimeouts().getStart())
            : settings.startTimeout,
        spec.getTimeouts().hasWait()
            ? duration(spec.getTimeouts().getWait())
            : settings.waitTimeout,
        settings.leaseTimeout,
        spec.getTimeouts().hasStopGrace()
            ? duration(spec.getTimeouts().getStopGrace())
            : settings.stopGrace,
        settings.quietTime,
        settings.healthyTime);
  }

  private static Duration duration(com.google.protobuf.Duration duration) {
    return Duration.ofMillis(Durations.toMillis(duration));
  }
}
