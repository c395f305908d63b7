package io.tensorflowignite.job.decide;

import io.tensorflowignite.v1.Task;
import java.util.Set;

/** The cause of a transition of a job, with its details. */
final class JobEvent {
  enum Type {
    /** Every task has its node and its partitions. */
    PLACED,
    /** The tasks can never be placed. */
    PLACEMENT_FAILED,
    /** No placement was found within the wait timeout. */
    WAIT_TIMED_OUT,
    /** Every agent holds its ports and has counted its rows. */
    TASKS_RESERVED,
    /** Every task runs. */
    TASKS_RUNNING,
    /** The attempt has run without a crash for the healthy time: earlier crashes do not count. */
    HEALTHY,
    /** Every task whose success counts has exited with 0. */
    TASKS_SUCCEEDED,
    /** A task failed, and its attempt with it. */
    TASK_CRASHED,
    /** A node or its agent failed, and could not start or keep its tasks. */
    NODE_FAILED,
    /** A task failed, and a new process can replace it while the other tasks continue. */
    TASK_REPLACED,
    /** The evaluator failed, and is not started again; the other tasks continue. */
    TASK_ABANDONED,
    /** Not every task ran within the start timeout. */
    START_TIMED_OUT,
    /** A node with tasks has left the topology. */
    NODE_LOST,
    /** Primary partitions have moved to other nodes. */
    DATA_MOVED,
    /** The attempt is to end, and its tasks can save before: they agree on a step. */
    END_PLANNED,
    /**
     * The attempt is to end, and the job to go on: a task was sent SIGTERM from outside, or a node
     * with tasks is about to leave.
     */
    END_REQUESTED,
    /** Partitions have lost all their copies. */
    DATA_LOST,
    /** A task found too few rows to train: the next attempt would find the same. */
    NO_ROWS,
    /** No further attempt is allowed, or a retry cannot help. */
    RETRIES_EXHAUSTED,
    STOP_REQUESTED,
    /** It is proven that all processes of the attempt have terminated. */
    TASKS_TERMINATED,
    /** That proof did not come in time from some nodes. */
    PROOF_TIMED_OUT,
  }

  final Type type;

  /** One line of text; empty where the type needs no more explanation. */
  final String cause;

  /** The task that failed; null for other events. */
  final Task task;

  /** The placement of the next attempt; null for other events than PLACED. */
  final Placement placement;

  /** The nodes on which processes may still run; none for other events than PROOF_TIMED_OUT. */
  final Set<String> nodes;

  /** The event that will end the attempt; null for other events than END_PLANNED. */
  final JobEvent planned;

  private JobEvent(
      Type type,
      String cause,
      Task task,
      Placement placement,
      Set<String> nodes,
      JobEvent planned) {
    this.type = type;
    this.cause = cause;
    this.task = task;
    this.placement = placement;
    this.nodes = nodes;
    this.planned = planned;
  }

  static JobEvent because(Type type, String format, Object... values) {
    return ofTask(type, null, String.format(format, values));
  }

  static JobEvent ofTask(Type type, Task task, String cause) {
    return new JobEvent(type, cause, task, null, Set.of(), null);
  }

  static JobEvent placed(Placement placement) {
    return new JobEvent(Type.PLACED, "", null, placement, Set.of(), null);
  }

  static JobEvent unproven(Set<String> nodes, String cause) {
    return new JobEvent(Type.PROOF_TIMED_OUT, cause, null, null, nodes, null);
  }

  /** The tasks save before the event that ends their attempt. */
  static JobEvent planned(JobEvent end) {
    return new JobEvent(Type.END_PLANNED, end.cause, null, null, Set.of(), end);
  }

  @Override
  public String toString() {
    return "JobEvent [type=" + type + (cause.isEmpty() ? "" : ", cause=" + cause) + "]";
  }
}
