package io.tensorflowignite;

import io.tensorflowignite.agent.TaskSettings;
import io.tensorflowignite.security.SecuritySettings;
import io.tensorflowignite.security.tls.TlsSettings;
import io.tensorflowignite.storage.StorageSettings;
import java.io.Serializable;
import java.time.Duration;

/** What is the same on every node: the properties of the bean {@link TensorFlowService}. */
public final class ClusterSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Duration startTimeout;
  private final Duration stopGrace;
  private final Duration leaseTimeout;
  private final Duration waitTimeout;
  private final Duration quietTime;
  private final Duration healthyTime;
  private final long logLimitBytes;
  private final long codeLimitBytes;
  private final Duration jobRetention;
  private final StorageSettings storage;
  private final BatchLimits batches;
  private final SecuritySettings security;
  private final TaskSettings tasks;
  private final TlsSettings tls;

  ClusterSettings(
      Duration startTimeout,
      Duration stopGrace,
      Duration leaseTimeout,
      Duration waitTimeout,
      Duration quietTime,
      Duration healthyTime,
      long logLimitBytes,
      long codeLimitBytes,
      Duration jobRetention,
      StorageSettings storage,
      BatchLimits batches,
      SecuritySettings security,
      TaskSettings tasks,
      TlsSettings tls) {
    this.startTimeout = startTimeout;
    this.stopGrace = stopGrace;
    this.leaseTimeout = leaseTimeout;
    this.waitTimeout = waitTimeout;
    this.quietTime = quietTime;
    this.healthyTime = healthyTime;
    this.logLimitBytes = logLimitBytes;
    this.codeLimitBytes = codeLimitBytes;
    this.jobRetention = jobRetention;
    this.storage = storage;
    this.batches = batches;
    this.security = security;
    this.tasks = tasks;
    this.tls = tls;
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

  /** How long a job waits for an assignment that it can start with, unless it says otherwise. */
  public Duration waitTimeout() {
    return waitTimeout;
  }

  /** How long primary partitions must stay where they are before tasks follow them. */
  public Duration quietTime() {
    return quietTime;
  }

  /** After so long without a crash a job's crashes are counted anew. */
  public Duration healthyTime() {
    return healthyTime;
  }

  /** Output of one task that is kept. */
  public long logLimitBytes() {
    return logLimitBytes;
  }

  public long codeLimitBytes() {
    return codeLimitBytes;
  }

  /** How long a job that is over is kept with all that it has left; zero: until it is removed. */
  public Duration jobRetention() {
    return jobRetention;
  }

  public StorageSettings storage() {
    return storage;
  }

  public BatchLimits batches() {
    return batches;
  }

  public SecuritySettings security() {
    return security;
  }

  /** What each task may use and inherit. */
  public TaskSettings tasks() {
    return tasks;
  }

  public TlsSettings tls() {
    return tls;
  }
}
