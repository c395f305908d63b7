package io.tensorflowignite.settings;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/** The limits of the admission of jobs from the queue. */
public final class QueueSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  public static final int MAX_TASKS = 10_000;

  /** Every owner without a quota of its own. */
  public static final String OTHERS = "*";

  private static final int TASKS_OF_A_CORE = 2;

  private final int maxTasks;
  private final HashMap<String, Integer> quotas;

  /**
   * @param maxTasks the tasks that are admitted on a node; 0: two for each of its processors
   * @param quotas the tasks that are admitted for an owner of jobs at one time, by name; {@link
   *     #OTHERS}: for each other owner
   */
  public QueueSettings(int maxTasks, Map<String, Integer> quotas) {
    this.maxTasks = maxTasks;
    this.quotas = new HashMap<>(quotas);
  }

  /** The tasks that are admitted on a node with this number of processors. */
  public int maxTasks(int processors) {
    return maxTasks > 0 ? maxTasks : TASKS_OF_A_CORE * processors;
  }

  /**
   * The tasks that an owner of jobs may have at one time; empty: any number. A caller without a
   * name has no quota.
   */
  public OptionalInt quota(String owner) {
    Integer quota = owner.isEmpty() ? null : quotas.getOrDefault(owner, quotas.get(OTHERS));
    return quota == null ? OptionalInt.empty() : OptionalInt.of(quota);
  }
}
