package io.tensorflowignite.metrics;

import static io.tensorflowignite.metrics.Metric.Scope.CLUSTER;
import static io.tensorflowignite.metrics.Metric.Scope.NODE;
import static io.tensorflowignite.metrics.Metric.Scope.SERVICE;
import static io.tensorflowignite.metrics.Metric.Type.COUNTER;
import static io.tensorflowignite.metrics.Metric.Type.GAUGE;
import static io.tensorflowignite.metrics.Metric.Type.HISTOGRAM;

import java.util.List;

/** All metrics, in the order of their table in docs/operations.md. */
public enum Metric {
  JOBS(CLUSTER, GAUGE, "jobs", "Jobs, also finished ones that are kept", "state"),
  QUEUED(CLUSTER, GAUGE, "jobs_queued", "Jobs that the queue has not admitted yet"),
  LOST_PARTITIONS(
      CLUSTER,
      GAUGE,
      "lost_partitions",
      "Partitions without a copy, of at most 100 caches",
      "cache"),
  BASELINE_NODES(
      CLUSTER,
      GAUGE,
      "baseline_nodes",
      "Nodes of the baseline: `online`, `offline`; nodes without partitions: `outside`",
      "state"),
  JOB_RUNNING(
      SERVICE, GAUGE, "job_running", "1: every task runs; 0: otherwise", "job_id", "job_name"),
  JOB_ATTEMPTS(SERVICE, GAUGE, "job_attempts", "Attempts until now", "job_id", "job_name"),
  JOB_STEP(
      SERVICE, GAUGE, "job_step", "The highest step, if one was reported", "job_id", "job_name"),
  JOB_CHECKPOINT_STEP(
      SERVICE,
      GAUGE,
      "job_checkpoint_step",
      "The step of the newest checkpoint; 0: none. Not of kind predict",
      "job_id",
      "job_name"),
  JOB_STEPS_PER_SECOND(
      SERVICE,
      GAUGE,
      "job_steps_per_second",
      "Steps a second of the fastest task",
      "job_id",
      "job_name"),
  JOB_EXAMPLES_PER_SECOND(
      SERVICE,
      GAUGE,
      "job_examples_per_second",
      "Rows a second that all tasks read",
      "job_id",
      "job_name"),
  JOB_INPUT_WAIT_RATIO(
      SERVICE,
      GAUGE,
      "job_input_wait_ratio",
      "Share of time, 0 to 1, in which tasks wait for rows; mean of tasks",
      "job_id",
      "job_name"),
  JOB_MEMORY_BYTES(
      SERVICE, GAUGE, "job_memory_bytes", "Resident memory of all tasks", "job_id", "job_name"),
  JOB_SNAPSHOT_BYTES(
      SERVICE,
      GAUGE,
      "job_snapshot_bytes",
      "Memory of the snapshots of all tasks (`snapshot=`)",
      "job_id",
      "job_name"),
  JOBS_LEFT_OUT(
      NODE, GAUGE, "jobs_left_out", "Jobs of the node beyond 100, without metrics of their own"),
  JOB_RESTARTS(
      NODE, COUNTER, "job_restarts", "Attempts that ended while their jobs went on", "cause"),
  READ_ROWS(NODE, COUNTER, "read_rows", "Rows that the node has sent to readers", "transport"),
  READ_BYTES(NODE, COUNTER, "read_bytes", "Bytes of these rows in Arrow columns", "transport"),
  FILES_MEMORY_USED_BYTES(
      NODE, GAUGE, "files_memory_used_bytes", "Memory in use of the data region of files"),
  FILES_MEMORY_LIMIT_BYTES(
      NODE,
      GAUGE,
      "files_memory_limit_bytes",
      "Memory in use above which files are refused; missing if the region is on disk too"),
  PREDICT_REQUESTS(
      NODE,
      COUNTER,
      "predict_requests",
      "Answered requests. A `code` other than OK is a refusal or an error; without a model: no such"
          + " model",
      "model",
      "version",
      "code"),
  PREDICT_SECONDS(
      NODE,
      HISTOGRAM,
      "predict_seconds",
      "Time from the arrival of a request at the node to its answer",
      "model",
      "version"),
  PREDICT_BATCH_ROWS(
      NODE,
      HISTOGRAM,
      "predict_batch_rows",
      "Rows of the batches that the node has sent to its model processes",
      "model",
      "version"),
  MODEL_SERVING(
      NODE,
      GAUGE,
      "model_serving",
      "1: a process of the node serves the version; 0: it loads, or has failed",
      "model",
      "version"),
  MODEL_RESTARTS(
      NODE, GAUGE, "model_restarts", "Restarts of the version's process", "model", "version"),
  MODEL_WAITING_ROWS(
      NODE, GAUGE, "model_waiting_rows", "Rows that wait for the process", "model", "version");

  /** Which nodes report a value. */
  public enum Scope {
    CLUSTER("every node, all equal: use max over the nodes"),
    SERVICE("the node of the job's service: use max by (job_id, job_name)"),
    NODE("each node its own: use sum over the nodes");

    public final String text;

    Scope(String text) {
      this.text = text;
    }
  }

  /** The type in OpenMetrics. */
  public enum Type {
    GAUGE,
    COUNTER,
    HISTOGRAM
  }

  static final String PREFIX = "tensorflow_ignite_";

  public final Scope scope;
  public final Type type;

  /** Without the prefix, and without the suffix of a counter. */
  public final String shortName;

  public final String help;
  public final List<String> labels;

  Metric(Scope scope, Type type, String shortName, String help, String... labels) {
    this.scope = scope;
    this.type = type;
    this.shortName = shortName;
    this.help = help;
    this.labels = List.of(labels);
  }
}
