package io.tensorflowignite.agent;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.security.TaskToken;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** What this node knows of its part in one attempt. */
final class LocalAttempt {
  final String jobId;
  final int number;
  AttemptPhase reached = AttemptPhase.ATTEMPT_PHASE_UNSPECIFIED;

  /** A call to stop it is under way. */
  boolean stopping;

  /** The agent has answered that nothing of it is left. */
  boolean provenGone;

  private final Set<TaskKey> started = new HashSet<>();
  private String error = "";
  private final Map<TaskKey, Task> tasks = new LinkedHashMap<>();
  private final Map<TaskKey, TaskToken> tokens = new HashMap<>();
  private NodeReport told = NodeReport.getDefaultInstance();

  LocalAttempt(String jobId, int number) {
    this.jobId = jobId;
    this.number = number;
  }

  static TaskKey key(String jobId, int attempt, Task task) {
    return TaskKey.newBuilder()
        .setJobId(jobId)
        .setAttempt(attempt)
        .setRole(task.getRole())
        .setIndex(task.getIndex())
        .setIncarnation(task.getIncarnation())
        .build();
  }

  void reserve(Task task, String address, long rows) {
    TaskToken token = TaskToken.make(key(jobId, number, task));
    tokens.put(key(jobId, number, task), token);
    TaskStatus status =
        TaskStatus.newBuilder()
            .setState(TaskState.TASK_RESERVED)
            .setTokenDigest(token.digest())
            .setAddress(address)
            .setRows(rows)
            .build();
    tasks.put(key(jobId, number, task), task.toBuilder().setStatus(status).build());
  }

  /** Takes over the place of an earlier incarnation of the task, if this node had one. */
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
    tasks.remove(key(jobId, number, before));
    tokens.remove(key(jobId, number, before));
    started.remove(key(jobId, number, before));
    reserve(task, before.getStatus().getAddress(), before.getStatus().getRows());
    return true;
  }

  void markStarted(TaskKey key) {
    started.add(key);
  }

  boolean isStarted(TaskKey key) {
    return started.contains(key);
  }

  /** Nothing is left, and the end of every task that was started has been told. */
  boolean isOver() {
    return provenGone && started.stream().noneMatch(this::isUnended);
  }

  private boolean isUnended(TaskKey key) {
    return tasks.get(key).getStatus().getState().getNumber() <= TaskState.TASK_RUNNING_VALUE;
  }

  /** What a task that is reserved says who it is with. */
  String token(TaskKey key) {
    return tokens.get(key).text();
  }

  /** Takes what the agent told of a task; what it was reserved with stays as it is. */
  void observe(TaskKey key, TaskStatus status) {
    Task task = tasks.get(key);
    if (task != null && status.getState().getNumber() >= task.getStatus().getState().getNumber()) {
      TaskStatus merged =
          status.toBuilder()
              .setAddress(task.getStatus().getAddress())
              .setRows(task.getStatus().getRows())
              .setTokenDigest(task.getStatus().getTokenDigest())
              .build();
      tasks.put(key, task.toBuilder().setStatus(merged).build());
    }
  }

  void fail(TaskKey key, String why) {
    observe(key, failed(why).build());
  }

  /** A further attempt would fail in the same way. */
  void failForGood(TaskKey key, String why) {
    observe(key, failed(why).setHopeless(true).build());
  }

  /** Every task that has not ended fails with its agent. */
  void loseAgent(String why) {
    for (TaskKey key : new ArrayList<>(tasks.keySet())) {
      if (isUnended(key)) {
        observe(key, failed(why).setAgentLost(true).build());
      }
    }
  }

  private static TaskStatus.Builder failed(String why) {
    return TaskStatus.newBuilder()
        .setState(TaskState.TASK_FAILED)
        .setExitCode(1)
        .setError(why)
        .setFinishedAt(Timestamps.fromMillis(System.currentTimeMillis()));
  }

  void error(String why) {
    error = why;
  }

  /** The report, when it differs from the one that was told last; else null. */
  NodeReport news(String nodeId) {
    NodeReport report =
        NodeReport.newBuilder()
            .setJobId(jobId)
            .setAttempt(number)
            .setNodeId(nodeId)
            .addAllTasks(tasks.values())
            .setReached(reached)
            .setError(error)
            .build();
    if (report.equals(told)) {
      return null;
    }
    told = report;
    return report;
  }

  boolean knows(TaskKey key) {
    return tasks.containsKey(key);
  }
}
