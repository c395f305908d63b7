package io.tensorflowignite.settings;

import java.io.Serializable;
import java.time.Duration;

/** The properties of {@code TensorFlowService}; those of a node and those of all nodes. */
public final class ClusterSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  /** From the placement of an attempt until every task runs; the default for jobs. */
  public final Duration startTimeout;

  /**
   * The longest time of a task without output and work before its first step; the default for jobs.
   * Zero: no limit.
   */
  public final Duration firstStepTimeout;

  /** The longest time of a task without a further step; the default for jobs. Zero: no limit. */
  public final Duration stallTimeout;

  /** Between SIGTERM and SIGKILL; the default for jobs. */
  public final Duration stopGrace;

  /** After this time without a heartbeat of its node, an agent kills its tasks. */
  public final Duration leaseTimeout;

  /** How long a job waits for enough room on the nodes to start; the default for jobs. */
  public final Duration waitTimeout;

  /** How long the primary partitions must stay unchanged before tasks follow them. */
  public final Duration quietTime;

  /** After this time without a crash, earlier crashes of a job are no longer counted. */
  public final Duration healthyTime;

  /** Limit of the stored output of one job, in bytes. */
  public final long logLimitBytes;

  /** Limit of a code archive, in bytes. */
  public final long codeLimitBytes;

  /** How long a finished job is retained with its files and output; zero: until it is removed. */
  public final Duration jobRetention;

  public final StorageSettings storage;
  public final BatchLimits batches;

  /** How fast each node reads rows for all its streams together. */
  public final ReadRate readRate;

  public final SecuritySettings security;
  public final TaskSettings tasks;
  public final QueueSettings queue;
  public final TlsSettings tls;

  /** Whether nodes have the functions of SQL that predict. */
  public final boolean sqlFunctions;

  public ClusterSettings(
      Duration startTimeout,
      Duration firstStepTimeout,
      Duration stallTimeout,
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
      ReadRate readRate,
      SecuritySettings security,
      TaskSettings tasks,
      QueueSettings queue,
      TlsSettings tls,
      boolean sqlFunctions) {
    this.startTimeout = startTimeout;
    this.firstStepTimeout = firstStepTimeout;
    this.stallTimeout = stallTimeout;
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
    this.readRate = readRate;
    this.security = security;
    this.tasks = tasks;
    this.queue = queue;
    this.tls = tls;
    this.sqlFunctions = sqlFunctions;
  }
}
