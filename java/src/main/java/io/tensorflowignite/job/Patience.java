package io.tensorflowignite.job;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.ClusterSettings;
import io.tensorflowignite.v1.JobSpec;
import java.time.Duration;

/** How long each thing is waited for: the job's own word, else the cluster's settings. */
final class Patience {
  /** From the placement until every task runs. */
  final Duration start;

  /** For an assignment that an attempt can begin with. */
  final Duration assignment;

  /** After so long without its node's heartbeat an agent has killed its tasks. */
  final Duration lease;

  /** How long the data must stay where they are before tasks follow them. */
  final Duration quiet;

  /** After so long without a crash, earlier ones are forgiven. */
  final Duration healthy;

  private Patience(
      Duration start, Duration assignment, Duration lease, Duration quiet, Duration healthy) {
    this.start = start;
    this.assignment = assignment;
    this.lease = lease;
    this.quiet = quiet;
    this.healthy = healthy;
  }

  static Patience of(JobSpec spec, ClusterSettings settings) {
    return new Patience(
        spec.hasStartTimeout() ? duration(spec.getStartTimeout()) : settings.startTimeout(),
        spec.hasWaitTimeout() ? duration(spec.getWaitTimeout()) : settings.waitTimeout(),
        settings.leaseTimeout(),
        settings.quietTime(),
        settings.healthyTime());
  }

  private static Duration duration(com.google.protobuf.Duration duration) {
    return Duration.ofMillis(Durations.toMillis(duration));
  }
}
