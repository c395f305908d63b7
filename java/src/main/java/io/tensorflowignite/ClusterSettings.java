package io.tensorflowignite;

import java.io.Serializable;
import java.time.Duration;

/** What is the same on every node: the properties of the bean {@link TensorFlowService}. */
public final class ClusterSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Duration startTimeout;
  private final Duration stopGrace;
  private final Duration leaseTimeout;
  private final long logLimitBytes;
  private final long codeLimitBytes;

  ClusterSettings(
      Duration startTimeout,
      Duration stopGrace,
      Duration leaseTimeout,
      long logLimitBytes,
      long codeLimitBytes) {
    this.startTimeout = startTimeout;
    this.stopGrace = stopGrace;
    this.leaseTimeout = leaseTimeout;
    this.logLimitBytes = logLimitBytes;
    this.codeLimitBytes = codeLimitBytes;
  }

  /** From the placement of an attempt until every task runs, unless a job says otherwise. */
  public Duration startTimeout() {
    return startTimeout;
  }

  /** Between SIGTERM and SIGKILL, unless a job says otherwise. */
  public Duration stopGrace() {
    return stopGrace;
  }

  /** Without a heartbeat from its node for so long, an agent kills its tasks. */
  public Duration leaseTimeout() {
    return leaseTimeout;
  }

  /** Output of one task that is kept. */
  public long logLimitBytes() {
    return logLimitBytes;
  }

  public long codeLimitBytes() {
    return codeLimitBytes;
  }
}
