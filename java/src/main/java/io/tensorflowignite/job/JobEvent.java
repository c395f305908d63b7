package io.tensorflowignite.job;

import io.tensorflowignite.v1.Task;
import java.util.Collections;
import java.util.List;

/** Something that happened to a job, with what is known of it. */
final class JobEvent {
  /** What can happen. */
  enum Type {
    /** Every task has its node and its partitions. */
    PLACED,
    /** There is no way to place the tasks. */
    PLACEMENT_FAILED,
    /** Every agent holds its ports and has counted its rows. */
    TASKS_RESERVED,
    /** Every task runs. */
    TASKS_RUNNING,
    /** Every task whose success counts has exited with 0. */
    TASKS_SUCCEEDED,
    TASK_FAILED,
    /** A node with tasks has left the topology. */
    NODE_LOST,
    /** Not every task ran in time. */
    START_TIMED_OUT,
    STOP_REQUESTED,
    /** It is proven that nothing of the attempt runs. */
    TASKS_GONE,
  }

  private final Type type;
  private final String cause;
  private final Task failed;
  private final List<Task> tasks;
  private final String digest;

  private JobEvent(Type type, String cause, Task failed, List<Task> tasks, String digest) {
    this.type = type;
    this.cause = cause;
    this.failed = failed;
    this.tasks = tasks;
    this.digest = digest;
  }

  static JobEvent of(Type type) {
    return new JobEvent(type, "", null, Collections.emptyList(), "");
  }

  static JobEvent because(Type type, String cause) {
    return new JobEvent(type, cause, null, Collections.emptyList(), "");
  }

  static JobEvent failed(Task task, String cause) {
    return new JobEvent(Type.TASK_FAILED, cause, task, Collections.emptyList(), "");
  }

  static JobEvent placed(Placement placement) {
    return new JobEvent(Type.PLACED, "", null, placement.tasks(), placement.digest());
  }

  Type type() {
    return type;
  }

  /** In one line; empty where the type says it all. */
  String cause() {
    return cause;
  }

  /** The task that failed; null for every other type. */
  Task failed() {
    return failed;
  }

  List<Task> tasks() {
    return tasks;
  }

  String digest() {
    return digest;
  }

  @Override
  public String toString() {
    return "JobEvent [type=" + type + (cause.isEmpty() ? "" : ", cause=" + cause) + "]";
  }
}
