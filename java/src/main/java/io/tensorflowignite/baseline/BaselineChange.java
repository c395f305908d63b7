package io.tensorflowignite.baseline;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NODE_NOT_FOUND;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ChangeBaselineRequest;
import java.util.Collection;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Decides the next baseline, and refuses one that may lose rows. */
final class BaselineChange {
  private BaselineChange() {}

  /**
   * The consistent ids of the next baseline.
   *
   * @param members the present one
   * @param online the server nodes of the cluster
   * @param automatic whether Ignite adjusts the baseline itself
   * @param absent by cache, the number of partitions on disk without a complete copy in the cluster
   */
  static Set<String> next(
      ChangeBaselineRequest request,
      Set<String> members,
      Set<String> online,
      boolean automatic,
      Supplier<SortedMap<String, Integer>> absent) {
    if (automatic) {
      throw invalidRequest(
          "The baseline is not changed: Ignite adjusts it itself when nodes join and leave, as it"
              + " does by default in a cluster without data on disk. Start or stop nodes, or turn"
              + " baselineAutoAdjustEnabled of Ignite off.");
    }
    Set<String> next = new TreeSet<>(members);
    next.addAll(request.getAddOnline() ? online : Set.of());
    for (String name : request.getAddList()) {
      require(name, online, "cluster", "Start the node first");
      next.add(name);
    }
    for (String name : request.getRemoveList()) {
      require(name, members, "baseline", "Name a node that is offline");
      if (online.contains(name)) {
        throw invalidRequest(
            "Node %s stays in the baseline: it is online, and has partitions. Only a node that is"
                + " offline can be removed, when other nodes have copies of its partitions. Drain"
                + " and stop it first.",
            name);
      }
      next.remove(name);
    }
    if (next.isEmpty()) {
      throw invalidRequest(
          "The baseline is not changed: no node would be left in it. Ignite needs at least one."
              + " Add another node in the same call.");
    }
    if (!request.getForce() && !next.equals(members)) {
      requireCopies(absent.get(), members, online);
    }
    return next;
  }

  private static void require(String name, Set<String> known, String where, String remedy) {
    if (!known.contains(name)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_NODE_NOT_FOUND,
          "No node of the %s has the name '%s'. A node is named by its consistent id (NAME). %s;"
              + " see: tensorflow-ignite baseline",
          where,
          name,
          remedy);
    }
  }

  /** A new baseline gives a partition without a copy to a node that has none of its rows. */
  private static void requireCopies(
      SortedMap<String, Integer> absent, Collection<String> members, Collection<String> online) {
    if (absent.isEmpty()) {
      return;
    }
    String caches =
        absent.entrySet().stream()
            .map(cache -> cache.getValue() + " of cache " + cache.getKey())
            .collect(Collectors.joining(", "));
    String offline =
        members.stream()
            .filter(name -> !online.contains(name))
            .sorted()
            .collect(Collectors.joining(", "));
    throw TensorFlowIgniteException.of(
        ERROR_CODE_DATA_LOST,
        "The baseline is not changed: no node of the cluster has a complete copy of some partitions"
            + " on disk (%s). Another baseline would give them to nodes without their rows. %sTo"
            + " lose these rows: --force, and afterwards tensorflow-ignite accept-data-loss CACHE",
        caches,
        offline.isEmpty() ? "" : "Start the nodes whose disks have them (" + offline + "). ");
  }
}
