package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.duration;
import static io.tensorflowignite.PropertyRules.positive;
import static io.tensorflowignite.PropertyRules.unlessZero;

import java.io.Serializable;
import java.time.Duration;

/**
 * How long the nodes wait, for jobs that set nothing else: {@code timeouts} of {@link
 * TensorFlowService}.
 */
public final class TimeoutConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;

  private double startSeconds = 120;
  private double firstStepSeconds = 300;
  private double stallSeconds = 600;
  private double stopGraceSeconds = 5;
  private double leaseSeconds = 6;
  private double waitSeconds = 600;
  private double quietSeconds = 5;
  private double healthySeconds = 300;

  /** Seconds from the placement of an attempt until every task must run: above 0. */
  public TimeoutConfiguration setStartSeconds(double seconds) {
    startSeconds = positive("timeouts.startSeconds", seconds);
    return this;
  }

  /** Seconds that a task may neither write output nor work before its first step; 0: no limit. */
  public TimeoutConfiguration setFirstStepSeconds(double seconds) {
    firstStepSeconds = unlessZero("timeouts.firstStepSeconds", seconds);
    return this;
  }

  /** Seconds that a task may take for each further step; 0: no limit. */
  public TimeoutConfiguration setStallSeconds(double seconds) {
    stallSeconds = unlessZero("timeouts.stallSeconds", seconds);
    return this;
  }

  /** Seconds between SIGTERM and SIGKILL when tasks are stopped: 0 or more. */
  public TimeoutConfiguration setStopGraceSeconds(double seconds) {
    stopGraceSeconds = seconds == 0 ? 0 : positive("timeouts.stopGraceSeconds", seconds);
    return this;
  }

  /**
   * Seconds without a heartbeat of its node after which an agent kills its tasks. Keep this below
   * Ignite's failureDetectionTimeout (10 s).
   */
  public TimeoutConfiguration setLeaseSeconds(double seconds) {
    leaseSeconds = positive("timeouts.leaseSeconds", seconds);
    return this;
  }

  /** Seconds that a job waits for a placement with which it can start. */
  public TimeoutConfiguration setWaitSeconds(double seconds) {
    waitSeconds = positive("timeouts.waitSeconds", seconds);
    return this;
  }

  /** Seconds that primary partitions must stay unchanged before running tasks follow them. */
  public TimeoutConfiguration setQuietSeconds(double seconds) {
    quietSeconds = positive("timeouts.quietSeconds", seconds);
    return this;
  }

  /** Seconds without a crash after which earlier crashes of a job are no longer counted. */
  public TimeoutConfiguration setHealthySeconds(double seconds) {
    healthySeconds = positive("timeouts.healthySeconds", seconds);
    return this;
  }

  Duration start() {
    return duration(startSeconds);
  }

  Duration firstStep() {
    return duration(firstStepSeconds);
  }

  Duration stall() {
    return duration(stallSeconds);
  }

  Duration stopGrace() {
    return duration(stopGraceSeconds);
  }

  Duration lease() {
    return duration(leaseSeconds);
  }

  Duration waiting() {
    return duration(waitSeconds);
  }

  Duration quiet() {
    return duration(quietSeconds);
  }

  Duration healthy() {
    return duration(healthySeconds);
  }
}
