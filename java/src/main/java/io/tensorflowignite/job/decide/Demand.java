package io.tensorflowignite.job.decide;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The resources that the tasks of a job's next attempt need. A job with one process may run on one
 * of several nodes; for other jobs, the partitions that tasks read decide the nodes.
 */
public final class Demand {
  /** By id of a node, in the order in which the nodes joined; null: there is no choice. */
  private final Map<String, Map<Resource, Integer>> byNode;

  private final Map<Resource, Integer> needs;

  private Demand(Map<String, Map<Resource, Integer>> byNode, Map<Resource, Integer> needs) {
    this.byNode = byNode;
    this.needs = needs;
  }

  /** The needs of tasks whose nodes are known. */
  public static Demand of(Map<Resource, Integer> needs) {
    return new Demand(null, needs);
  }

  /**
   * The needs of a job with one process.
   *
   * @param byNode its needs on each node that may run it, in the order in which the nodes joined;
   *     at least one
   */
  public static Demand onOneOf(Map<String, Map<Resource, Integer>> byNode) {
    return new Demand(
        new LinkedHashMap<>(byNode), byNode.values().stream().findFirst().orElseThrow());
  }

  boolean hasChoice() {
    return byNode != null;
  }

  /** The nodes that may run the process, in the order in which they joined. */
  List<String> nodes() {
    return new ArrayList<>(byNode.keySet());
  }

  /**
   * The resources that the job needs on a node.
   *
   * @param node the node of its process
   * @return empty: the node may not run the process.
   */
  Optional<Map<Resource, Integer>> on(String node) {
    return hasChoice() ? Optional.ofNullable(byNode.get(node)) : Optional.of(needs);
  }
}
