package io.tensorflowignite;

import static io.tensorflowignite.PropertyRules.MEGABYTE;
import static io.tensorflowignite.PropertyRules.NO_LIMIT;
import static io.tensorflowignite.PropertyRules.hours;
import static io.tensorflowignite.PropertyRules.invalid;
import static io.tensorflowignite.PropertyRules.present;
import static io.tensorflowignite.PropertyRules.within;

import io.tensorflowignite.settings.QueueSettings;
import java.io.Serializable;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * How many jobs there are, and how much of each is kept: {@code jobs} of {@link TensorFlowService}.
 */
public final class JobConfiguration implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int MAX_QUOTA = 1_000_000;

  private int logMegabytes = 64;
  private int codeMegabytes = 256;
  private double retentionHours = 168;
  private int maxTasks;
  private HashMap<String, Integer> taskQuotas = new HashMap<>();

  /** Limit of the stored output of one job, in MiB. */
  public JobConfiguration setLogMegabytes(int megabytes) {
    logMegabytes = (int) within("jobs.logMegabytes", megabytes, 1, "", Integer.MAX_VALUE);
    return this;
  }

  /** Limit of a code archive, in MiB. */
  public JobConfiguration setCodeMegabytes(int megabytes) {
    codeMegabytes = (int) within("jobs.codeMegabytes", megabytes, 1, "", Integer.MAX_VALUE);
    return this;
  }

  /**
   * Hours that a finished job is retained with its checkpoints, output and code; 0: until a user
   * removes it.
   */
  public JobConfiguration setRetentionHours(double hours) {
    retentionHours = hours("jobs.retentionHours", hours, NO_LIMIT);
    return this;
  }

  /**
   * Tasks that are admitted on a node at one time, 1 to 10,000; jobs that do not fit wait in the
   * queue. By default two for each processor of the node.
   */
  public JobConfiguration setMaxTasks(int tasks) {
    maxTasks = (int) within("jobs.maxTasks", tasks, 1, "", QueueSettings.MAX_TASKS);
    return this;
  }

  /**
   * Tasks that are admitted for one owner of jobs at one time, by the name of the owner, 1 to
   * 1,000,000; {@code *}: for each owner that is not named. Without a quota an owner may have any
   * number. Quotas need a cluster that authenticates callers.
   */
  public JobConfiguration setTaskQuotas(Map<String, Integer> quotas) {
    present("jobs.taskQuotas", quotas);
    quotas.forEach(
        (owner, tasks) -> {
          if (owner == null || owner.isEmpty() || tasks == null || tasks < 1 || tasks > MAX_QUOTA) {
            throw invalid(
                "jobs.taskQuotas",
                owner + "=" + tasks,
                "It must map names of owners, or *, to a number from 1 to 1,000,000");
          }
        });
    taskQuotas = new HashMap<>(quotas);
    return this;
  }

  long logBytes() {
    return logMegabytes * MEGABYTE;
  }

  long codeBytes() {
    return codeMegabytes * MEGABYTE;
  }

  Duration retention() {
    return hours(retentionHours);
  }

  QueueSettings queue() {
    return new QueueSettings(maxTasks, taskQuotas);
  }
}
