package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.MEGABYTE;
import static io.tensorflowignite.PropertyRules.NO_LIMIT;
import static io.tensorflowignite.PropertyRules.hours;
import static io.tensorflowignite.PropertyRules.invalid;
import static io.tensorflowignite.PropertyRules.present;
import static io.tensorflowignite.PropertyRules.within;

import io.tensorflowignite.settings.TaskSettings;
import java.io.Serializable;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * Limits and priority of tasks, and what they inherit: {@code tasks} of {@link TensorFlowService}.
 */
public final class TaskConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*\\*?");

  private static final long MAX_MEGABYTES = 1_000_000_000;

  private long memoryMegabytes;
  private int processes;
  private int openFiles;
  private double cpuHours;
  private double timeLimitHours;
  private String[] environment = {};
  private int nice = 10;
  private int warmProcesses = 1;

  /**
   * Limit of a task's memory, in MiB, for each of its processes and for all together; 0: no limit.
   * TensorFlow alone needs about 1,000.
   */
  public TaskConfiguration setMemoryMegabytes(long megabytes) {
    memoryMegabytes = (long) within("tasks.memoryMegabytes", megabytes, 0, NO_LIMIT, MAX_MEGABYTES);
    return this;
  }

  /** Limit of a task's processes at one time; 0: no limit. */
  public TaskConfiguration setProcesses(int processes) {
    this.processes = (int) within("tasks.processes", processes, 0, NO_LIMIT, Integer.MAX_VALUE);
    return this;
  }

  /** Limit of open files of each process of a task; 0: the node's own limit. */
  public TaskConfiguration setOpenFiles(int files) {
    openFiles =
        (int)
            within("tasks.openFiles", files, 0, ", for the limit of the node,", Integer.MAX_VALUE);
    return this;
  }

  /** Limit of processor time of each process of a task, in hours; 0: no limit. */
  public TaskConfiguration setCpuHours(double hours) {
    cpuHours = hours("tasks.cpuHours", hours, NO_LIMIT);
    return this;
  }

  /** Limit of the time from a task's start to its end, in hours; 0: no limit. */
  public TaskConfiguration setTimeLimitHours(double hours) {
    timeLimitHours = hours("tasks.timeLimitHours", hours, NO_LIMIT);
    return this;
  }

  /**
   * Variables of a node's environment that its tasks inherit besides the usual ones: names, or
   * prefixes of names followed by '*'.
   */
  public TaskConfiguration setEnvironment(String... names) {
    for (String name : present("tasks.environment", names)) {
      if (name == null || !VARIABLE.matcher(name).matches()) {
        throw invalid(
            "tasks.environment",
            "'" + name + "'",
            "It must be a variable's name, or a prefix of names followed by '*'");
      }
    }
    environment = names.clone();
    return this;
  }

  /**
   * Priority of the tasks' processes: added to the nice value of their node, 0 to 19. With 10, a
   * task gets a tenth of a processor for which the node has work too; with 0, as much as the node.
   */
  public TaskConfiguration setNice(int nice) {
    this.nice =
        (int)
            within("tasks.nice", nice, 0, ", for the priority of the node,", TaskSettings.MAX_NICE);
    return this;
  }

  /**
   * Processes on each node that have TensorFlow imported and wait for a task, which then starts
   * without the import: 0 to 16; 0: none.
   */
  public TaskConfiguration setWarmProcesses(int processes) {
    warmProcesses =
        (int)
            within(
                "tasks.warmProcesses",
                processes,
                0,
                ", for none,",
                TaskSettings.MAX_WARM_PROCESSES);
    return this;
  }

  TaskSettings settings() {
    return new TaskSettings(
        memoryMegabytes * MEGABYTE,
        processes,
        openFiles,
        hours(cpuHours),
        hours(timeLimitHours),
        Arrays.asList(environment),
        nice,
        warmProcesses);
  }
}
