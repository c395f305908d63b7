package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.MILLISECOND;
import static io.tensorflowignite.PropertyRules.NO_LIMIT;
import static io.tensorflowignite.PropertyRules.duration;
import static io.tensorflowignite.PropertyRules.seconds;

import java.io.Serializable;
import java.time.Duration;

/**
 * How long the nodes wait, for jobs that set nothing else: {@code timeouts} of {@link
 * TensorFlowService}.
 */
public final class TimeoutConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Nodes call each other twelve times in a lease. */
  private static final double MIN_LEASE_SECONDS = 1;

  Duration start = duration(120);
  Duration firstStep = duration(300);
  Duration stall = duration(600);
  Duration stopGrace = duration(5);
  Duration lease = duration(6);
  Duration waiting = duration(600);
  Duration quiet = duration(5);
  Duration healthy = duration(300);

  /** Seconds from the placement of an attempt until every task must run: above 0. */
  public TimeoutConfiguration setStartSeconds(double seconds) {
    start = duration(seconds("timeouts.startSeconds", seconds, MILLISECOND, ""));
    return this;
  }

  /** Seconds that a task may neither write output nor work before its first step; 0: no limit. */
  public TimeoutConfiguration setFirstStepSeconds(double seconds) {
    firstStep = duration(seconds("timeouts.firstStepSeconds", seconds, 0, NO_LIMIT));
    return this;
  }

  /** Seconds that a task may take for each further step; 0: no limit. */
  public TimeoutConfiguration setStallSeconds(double seconds) {
    stall = duration(seconds("timeouts.stallSeconds", seconds, 0, NO_LIMIT));
    return this;
  }

  /** Seconds between SIGTERM and SIGKILL when tasks are stopped: 0 or more. */
  public TimeoutConfiguration setStopGraceSeconds(double seconds) {
    stopGrace = duration(seconds("timeouts.stopGraceSeconds", seconds, 0, ""));
    return this;
  }

  /**
   * Seconds without a heartbeat of its node after which an agent kills its tasks, 1 or more; the
   * same on all nodes. Keep this below Ignite's failureDetectionTimeout (10 s).
   */
  public TimeoutConfiguration setLeaseSeconds(double seconds) {
    lease = duration(seconds("timeouts.leaseSeconds", seconds, MIN_LEASE_SECONDS, ""));
    return this;
  }

  /** Seconds that a job waits for a placement with which it can start. */
  public TimeoutConfiguration setWaitSeconds(double seconds) {
    waiting = duration(seconds("timeouts.waitSeconds", seconds, MILLISECOND, ""));
    return this;
  }

  /** Seconds that primary partitions must stay unchanged before running tasks follow them. */
  public TimeoutConfiguration setQuietSeconds(double seconds) {
    quiet = duration(seconds("timeouts.quietSeconds", seconds, MILLISECOND, ""));
    return this;
  }

  /** Seconds without a crash after which earlier crashes of a job are no longer counted. */
  public TimeoutConfiguration setHealthySeconds(double seconds) {
    healthy = duration(seconds("timeouts.healthySeconds", seconds, MILLISECOND, ""));
    return this;
  }

  void takeAllButLease(TimeoutConfiguration own) {
    start = own.start;
    firstStep = own.firstStep;
    stall = own.stall;
    stopGrace = own.stopGrace;
    waiting = own.waiting;
    quiet = own.quiet;
    healthy = own.healthy;
  }
}
