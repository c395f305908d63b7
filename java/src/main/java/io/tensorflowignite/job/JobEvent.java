package io.tensorflowignite.job;

import io.tensorflowignite.v1.Node;
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
    /** No assignment to start with was found in time. */
    WAIT_TIMED_OUT,
    /** Every agent holds its ports and has counted its rows. */
    TASKS_RESERVED,
    /** Every task runs. */
    TASKS_RUNNING,
    /** The attempt has run well for so long that earlier crashes are forgiven. */
    HEALTHY,
    /** Every task whose success counts has exited with 0. */
    TASKS_SUCCEEDED,
    /** A task failed, and its attempt with it. */
    TASK_CRASHED,
    /** A task failed whose place another process can take while the others go on. */
    TASK_REPLACED,
    /** Not every task ran in time. */
    START_TIMED_OUT,
    /** A node with tasks has left the topology. */
    NODE_LOST,
    /** The primary partitions are elsewhere now. */
    DATA_MOVED,
    /** Partitions have lost all their copies. */
    DATA_LOST,
    /** No further attempt is allowed, or could help. */
    GIVEN_UP,
    STOP_REQUESTED,
    /** It is proven that nothing of the attempt runs. */
    TASKS_GONE,
  }

  private final Type type;
  private final String cause;
  private final Task task;
  private final Placement placement;

  private JobEvent(Type type, String cause, Task task, Placement placement) {
    this.type = type;
    this.cause = cause;
    this.task = task;
    this.placement = placement;
  }

  static JobEvent of(Type type) {
    return new JobEvent(type, "", null, null);
  }

  static JobEvent because(Type type, String cause) {
    return new JobEvent(type, cause, null, null);
  }

  static JobEvent ofTask(Type type, Task task, String cause) {
    return new JobEvent(type, cause, task, null);
  }

  static JobEvent placed(Placement placement) {
    return new JobEvent(Type.PLACED, "", null, placement);
  }

  Type type() {
    return type;
  }

  /** In one line; empty where the type says it all. */
  String cause() {
    return cause;
  }

  /** The task that failed; null where there is none. */
  Task task() {
    return task;
  }

  List<Task> tasks() {
    return placement == null ? Collections.emptyList() : placement.tasks();
  }

  List<Node> members() {
    return placement == null ? Collections.emptyList() : placement.members();
  }

  String digest() {
    return placement == null ? "" : placement.digest();
  }

  @Override
  public String toString() {
    return "JobEvent [type=" + type + (cause.isEmpty() ? "" : ", cause=" + cause) + "]";
  }
}
