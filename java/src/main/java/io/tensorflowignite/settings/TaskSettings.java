package io.tensorflowignite.settings;

import com.google.protobuf.util.Durations;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.TaskLimits;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The limits and the priority of each task, the variables that it inherits from its node's
 * environment, and the processes that wait for tasks.
 */
public final class TaskSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  public static final int MAX_WARM_PROCESSES = 16;
  public static final int MAX_NICE = 19;

  private final long memoryBytes;
  private final int processes;
  private final int openFiles;
  private final Duration cpuTime;
  private final Duration runTime;
  private final ArrayList<String> environment;

  /** Added to the nice value of a node for its tasks. */
  public final int nice;

  /** Processes on each node that have TensorFlow imported and wait for a task. */
  public final int warmProcesses;

  /**
   * Zero means no limit.
   *
   * @param memoryBytes memory of a task's processes together.
   * @param processes processes of a task at one time.
   * @param openFiles open files of one process.
   * @param cpuTime processor time of one process.
   * @param runTime time from a task's start to its end.
   * @param environment inherited variables: names, or prefixes of names followed by '*'.
   * @param nice added to the nice value of a node for its tasks.
   * @param warmProcesses processes on each node that wait for a task; zero: none.
   */
  public TaskSettings(
      long memoryBytes,
      int processes,
      int openFiles,
      Duration cpuTime,
      Duration runTime,
      List<String> environment,
      int nice,
      int warmProcesses) {
    this.memoryBytes = memoryBytes;
    this.processes = processes;
    this.openFiles = openFiles;
    this.cpuTime = cpuTime;
    this.runTime = runTime;
    this.environment = new ArrayList<>(environment);
    this.nice = nice;
    this.warmProcesses = warmProcesses;
  }

  /** Variables that a task inherits besides the usual ones. */
  public List<String> environment() {
    return Collections.unmodifiableList(environment);
  }

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

  /**
   * @param nice this node's nice value; overrides the cluster's
   */
  public void addTo(StartTaskRequest.Builder request, int nice) {
    request.setLimits(limits()).addAllInheritedEnv(environment).setNice(nice);
  }
}
