package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.security.TaskToken;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.UnprovenAttempt;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** The tasks of one attempt on this node, and their state. */
final class LocalAttempt {
  final String jobId;
  final int number;

  /** The newest row of the job that this node has read. */
  volatile Job job;

  AttemptPhase reached = AttemptPhase.ATTEMPT_PHASE_UNSPECIFIED;

  /** A call to stop the attempt is pending. */
  boolean stopping;

  /** Why this node requests an end of the attempt; empty: it does not. */
  String endRequest = "";

  /** The planned end that the tasks have last got. */
  PlannedEnd plannedEnd = PlannedEnd.getDefaultInstance();

  /** The agent has confirmed that all processes of the attempt have terminated. */
  boolean provenTerminated;

  /** Set when the attempt's job has ended, until its end on this node is proven. */
  private volatile UnprovenAttempt unproven;

  private final LongSupplier clockMillis;
  private final Set<TaskKey> started = new HashSet<>();
  private String error = "";
  private final Map<TaskKey, Task> tasks = new LinkedHashMap<>();
  private final Map<TaskKey, TaskToken> tokens = new HashMap<>();

  LocalAttempt(Job job, int number) {
    this(job, number, System::currentTimeMillis);
  }

  /**
   * @param clockMillis the time of failures, in milliseconds since 1970
   */
  LocalAttempt(Job job, int number, LongSupplier clockMillis) {
    this.clockMillis = clockMillis;
    this.jobId = job.getId();
    this.number = number;
    this.job = job;
  }

  String id() {
    return ReportSender.id(jobId, number);
  }

  TaskKey key(Task task) {
    return LogTable.key(jobId, number, task);
  }

  void reserve(Task task, String address, long rows) {
    TaskToken token = TaskToken.create(key(task));
    tokens.put(key(task), token);
    TaskStatus status =
        TaskStatus.newBuilder()
            .setState(TASK_STATE_RESERVED)
            .setTokenDigest(token.digest())
            .setAddress(address)
            .setRows(rows)
            .build();
    tasks.put(key(task), task.toBuilder().setStatus(status).build());
  }

  /**
   * Replaces an earlier incarnation of the task, with its address and rows.
   *
   * @return false if this node had no earlier incarnation.
   */
  boolean replace(Task task) {
    Task before =
        tasks.values().stream()
            .filter(
                known ->
                    known.getRole() == task.getRole()
                        && known.getIndex() == task.getIndex()
                        && known.getIncarnation() < task.getIncarnation())
            .findFirst()
            .orElse(null);
    if (before == null) {
      return false;
    }
    tasks.remove(key(before));
    tokens.remove(key(before));
    started.remove(key(before));
    reserve(task, before.getStatus().getAddress(), before.getStatus().getRows());
    return true;
  }

  void markStarted(TaskKey key) {
    started.add(key);
  }

  /** Whether a task is reserved, and was neither started nor has failed. */
  boolean isToStart(TaskKey key) {
    return hasTask(key) && !started.contains(key) && isActive(key);
  }

  /** Whether all processes have terminated, and the end of every started task is known. */
  boolean hasEnded() {
    return provenTerminated && !isActive();
  }

  /** Whether a started task has not ended, as far as the node knows. */
  boolean isActive() {
    return started.stream().anyMatch(this::isActive);
  }

  private boolean isActive(TaskKey key) {
    return tasks.get(key).getStatus().getStateValue() <= TaskState.TASK_STATE_RUNNING_VALUE;
  }

  /** The token of a reserved task. */
  TaskToken token(TaskKey key) {
    return tokens.get(key);
  }

  /** Takes over a status from the agent; address, rows and token digest stay as reserved. */
  void observe(TaskKey key, TaskStatus status) {
    Task task = tasks.get(key);
    if (task != null && status.getStateValue() >= task.getStatus().getStateValue()) {
      TaskStatus merged =
          status.toBuilder()
              .setAddress(task.getStatus().getAddress())
              .setRows(task.getStatus().getRows())
              .setTokenDigest(task.getStatus().getTokenDigest())
              .build();
      tasks.put(key, task.toBuilder().setStatus(merged).build());
    }
  }

  /** Fails a task that the node could not start: a retry may help. */
  void fail(TaskKey key, String error) {
    observe(key, failed(error).setNodeFailed(true).build());
  }

  /** Fails a task so that no further attempt is made: a retry cannot help. */
  void failPermanently(TaskKey key, String error) {
    observe(key, failed(error).setFailedPermanently(true).build());
  }

  /** Fails every active task, since its agent has ended; its pid and its progress stay. */
  void loseAgent(String error) {
    for (TaskKey key : new ArrayList<>(tasks.keySet())) {
      if (isActive(key)) {
        TaskStatus lost = failed(error).setAgentLost(true).setNodeFailed(true).build();
        observe(key, tasks.get(key).getStatus().toBuilder().mergeFrom(lost).build());
      }
    }
  }

  private TaskStatus.Builder failed(String error) {
    return TaskStatus.newBuilder()
        .setState(TASK_STATE_FAILED)
        .setExitCode(1)
        .setError(error)
        .setFinishedAt(Timestamps.fromMillis(clockMillis.getAsLong()));
  }

  /** The attempt's job has ended, and its end here is not proven. */
  void markUnproven() {
    unproven =
        UnprovenAttempt.newBuilder()
            .setJobId(jobId)
            .setAttempt(number)
            .addAllPids(
                tasks.values().stream()
                    .map(task -> task.getStatus().getPid())
                    .filter(pid -> pid != 0)
                    .collect(Collectors.toList()))
            .build();
  }

  /** The attempt, if its job has ended, and its end here is not proven. */
  Optional<UnprovenAttempt> unproven() {
    return Optional.ofNullable(unproven);
  }

  void error(String error) {
    this.error = error;
  }

  NodeReport report(String nodeId) {
    NodeReport.Builder report =
        NodeReport.newBuilder()
            .setJobId(jobId)
            .setAttempt(number)
            .setNodeId(nodeId)
            .addAllTasks(tasks.values())
            .setReached(reached)
            .setError(error);
    report
        .getTasksBuilderList()
        .forEach(task -> task.getStatusBuilder().setEndRequested(endRequest));
    return report.build();
  }

  boolean hasTask(TaskKey key) {
    return tasks.containsKey(key);
  }
}
