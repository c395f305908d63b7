package io.tensorflowignite.predict.decide;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.BatchRule;
import io.tensorflowignite.v1.DeployModelRequest;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelState;
import io.tensorflowignite.v1.ModelStatus;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The changes of a deployment: the target becomes the current version when all chosen nodes serve
 * it, and is given up when it cannot be loaded. The current version serves until then. The version
 * before it serves for {@link #WARM} more: for calls of nodes that have not noticed, and so that it
 * can become the current one again at once. Another target ends that.
 */
public final class Rollover {
  /** Longer than a change of the row takes to all nodes, and than a rollback takes to decide. */
  public static final Duration WARM = Duration.ofMinutes(10);

  /** After this number of restarts a process that has never served will not. */
  static final int RESTARTS = 2;

  private Rollover() {}

  /** The versions that a node which is chosen serves. */
  public static Set<Long> versions(ModelDeployment row) {
    Set<Long> versions = served(row);
    versions.add(row.getTarget());
    versions.remove(0L);
    return versions;
  }

  /**
   * Whether a node that is not chosen any more serves a version further: until all nodes that are
   * chosen now serve it, and while none is. A target is loaded by these alone, and a version that
   * the node itself cannot load is of no use.
   *
   * @param here the process of the version on the node
   * @param chosen ids of the nodes that serve the model
   * @param states the model processes of each node
   */
  public static boolean isNeeded(
      ModelDeployment row,
      ModelStatus here,
      Collection<String> chosen,
      Map<String, List<ModelStatus>> states) {
    long number = here.getKey().getNumber();
    boolean othersServe =
        !chosen.isEmpty()
            && chosen.stream()
                .allMatch(
                    node ->
                        status(row.getName(), number, states.get(node))
                            .filter(Rollover::serves)
                            .isPresent());
    return served(row).contains(number) && !isPermanent(here) && !othersServe;
  }

  /**
   * Whether the process of a version must be replaced: the version is not served yet, and the
   * process has other limits than the row. A served version keeps the limits of its load.
   *
   * @param loaded the row for which the process was started
   */
  public static boolean isOutdated(long number, ModelDeployment loaded, ModelDeployment row) {
    return !served(row).contains(number)
        && (loaded.getMemoryBytes() != row.getMemoryBytes()
            || !loaded.getBatches().equals(row.getBatches()));
  }

  /**
   * The row with a new target. The current version is a target too: until all chosen nodes serve
   * it. Options that the request does not have stay as they are.
   *
   * @param owner the caller
   */
  public static ModelDeployment deploy(
      ModelDeployment row, DeployModelRequest request, String owner) {
    long number = request.getKey().getNumber();
    return row.toBuilder()
        .setName(request.getKey().getName())
        .setTarget(number)
        .setPrevious(
            number == row.getCurrent() || number == row.getPrevious() ? row.getPrevious() : 0)
        .setReplicas(request.hasReplicas() ? request.getReplicas() : row.getReplicas())
        .setMemoryBytes(request.hasMemoryBytes() ? request.getMemoryBytes() : row.getMemoryBytes())
        .setBatches(merged(row.getBatches(), request.getBatches()))
        .setKeepPrevious(request.getKeepPrevious())
        .setOwner(owner)
        .clearFailed()
        .clearError()
        .build();
  }

  /** The numbers of the new rule; the known rule has the numbers that the new rule leaves out. */
  private static BatchRule merged(BatchRule known, BatchRule given) {
    BatchRule.Builder rule = known.toBuilder();
    if (given.getMaxRows() != 0) {
      rule.setMaxRows(given.getMaxRows());
    }
    if (given.hasMaxDelay()) {
      // A delay of 0 is one too.
      rule.setMaxDelay(given.getMaxDelay());
    }
    if (given.getMaxWaitingRows() != 0) {
      rule.setMaxWaitingRows(given.getMaxWaitingRows());
    }
    return rule.build();
  }

  /**
   * The next row.
   *
   * @param chosen ids of the nodes that serve the model
   * @param states the model processes of each node
   * @return empty: the row stays as it is
   */
  public static Optional<ModelDeployment> next(
      ModelDeployment row,
      Collection<String> chosen,
      Map<String, List<ModelStatus>> states,
      Timestamp now) {
    if (row.getTarget() != 0 && !chosen.isEmpty()) {
      boolean serves = true;
      for (String node : chosen) {
        Optional<ModelStatus> status = status(row.getName(), row.getTarget(), states.get(node));
        if (status.filter(Rollover::isPermanent).isPresent()) {
          return Optional.of(failed(row, node, status.get()));
        }
        serves &= status.filter(Rollover::serves).isPresent();
      }
      if (serves) {
        return Optional.of(
            row.getTarget() == row.getCurrent()
                ? row.toBuilder().clearTarget().clearKeepPrevious().build()
                : switched(row, now));
      }
    }
    if (row.getPrevious() != 0 && row.getTarget() == 0) {
      long drained = Timestamps.toMillis(row.getSwitchedAt()) + WARM.toMillis();
      if (Timestamps.toMillis(now) >= drained) {
        return Optional.of(row.toBuilder().clearPrevious().build());
      }
    }
    return Optional.empty();
  }

  /** The process of a version, if it is in the node's list. */
  public static Optional<ModelStatus> status(String name, long number, List<ModelStatus> models) {
    return models == null
        ? Optional.empty()
        : models.stream()
            .filter(model -> model.getKey().getName().equals(name))
            .filter(model -> model.getKey().getNumber() == number)
            .findFirst();
  }

  public static boolean serves(ModelStatus status) {
    return status.getState() == ModelState.MODEL_STATE_SERVING;
  }

  /** The versions to which callers may send requests: without a version that is only the target. */
  private static Set<Long> served(ModelDeployment row) {
    Set<Long> versions = new LinkedHashSet<>(row.getKeptList());
    versions.addAll(List.of(row.getCurrent(), row.getPrevious()));
    versions.remove(0L);
    return versions;
  }

  private static boolean isPermanent(ModelStatus status) {
    boolean neverServed = status.getSignaturesCount() == 0;
    return status.getState() == ModelState.MODEL_STATE_FAILED
        && (status.getUnusable() || (neverServed && status.getRestarts() >= RESTARTS));
  }

  private static ModelDeployment switched(ModelDeployment row, Timestamp now) {
    ModelDeployment.Builder next =
        row.toBuilder()
            .setCurrent(row.getTarget())
            .clearTarget()
            .clearPrevious()
            .clearKeepPrevious()
            .setSwitchedAt(now);
    Set<Long> kept = new LinkedHashSet<>(row.getKeptList());
    if (row.getKeepPrevious() && row.getCurrent() != 0) {
      kept.add(row.getCurrent());
    }
    kept.remove(row.getTarget());
    next.clearKept().addAllKept(kept);
    return kept.contains(row.getCurrent())
        ? next.build()
        : next.setPrevious(row.getCurrent()).build();
  }

  private static ModelDeployment failed(ModelDeployment row, String node, ModelStatus status) {
    return row.toBuilder()
        .clearTarget()
        .clearKeepPrevious()
        .setFailed(row.getTarget())
        .setError(
            "on node " + node.substring(0, Math.min(8, node.length())) + ": " + status.getError())
        .build();
  }
}
