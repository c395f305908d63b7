package io.tensorflowignite.agent;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.TaskLimits;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What each task may use, and which variables of its node's environment it inherits. */
public final class TaskSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  private final long memoryBytes;
  private final int processes;
  private final int openFiles;
  private final Duration cpuTime;
  private final Duration runTime;
  private final ArrayList<String> environment;

  /**
   * Zero: no limit.
   *
   * @param memoryBytes memory of its processes together.
   * @param processes processes at a time.
   * @param openFiles open files of a process.
   * @param cpuTime processor time of a process.
   * @param runTime from its start to its end.
   * @param environment names, or beginnings of names with '*' behind them.
   */
  public TaskSettings(
      long memoryBytes,
      int processes,
      int openFiles,
      Duration cpuTime,
      Duration runTime,
      List<String> environment) {
    this.memoryBytes = memoryBytes;
    this.processes = processes;
    this.openFiles = openFiles;
    this.cpuTime = cpuTime;
    this.runTime = runTime;
    this.environment = new ArrayList<>(environment);
  }

  /** Names of variables besides the usual ones. */
  public List<String> environment() {
    return Collections.unmodifiableList(environment);
  }

  /** As an agent takes them. */
  public TaskLimits limits() {
    TaskLimits.Builder limits =
        TaskLimits.newBuilder()
            .setMemoryBytes(memoryBytes)
            .setProcesses(processes)
            .setOpenFiles(openFiles);
    if (!cpuTime.isZero()) {
      limits.setCpuTime(Durations.fromMillis(cpuTime.toMillis()));
    }
    if (!runTime.isZero()) {
      limits.setRunTime(Durations.fromMillis(runTime.toMillis()));
    }
    return limits.build();
  }

  void addTo(StartTaskRequest.Builder request) {
    request.setLimits(limits()).addAllInheritedEnv(environment);
  }
}
