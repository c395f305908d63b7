package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.base.ModelPaths;
import io.tensorflowignite.predict.decide.Rollover;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.storage.tree.FilePath;
import io.tensorflowignite.table.DeploymentTable;
import io.tensorflowignite.v1.ModelDeployment;
import java.util.List;
import java.util.Optional;

/**
 * The files of models that the nodes serve: versions, which nodes copy again when a process moves,
 * and the label of the current version.
 */
public final class ServedFiles {
  private final DeploymentTable deployments;
  private final Guard guard;

  public ServedFiles(DeploymentTable deployments, Guard guard) {
    this.deployments = deployments;
    this.guard = guard;
  }

  /** Requires that a file may be written, removed or replaced, with everything below it. */
  void requireChange(String path) {
    List<String> parts = FilePath.parse(path).parts;
    if (!parts.isEmpty() && !parts.get(0).equals(ModelPaths.ROOT)) {
      return;
    }
    if (parts.size() < 2) {
      deployments.all().stream().findFirst().ifPresent(row -> refuse(row.getName(), path));
      return;
    }
    Optional<ModelDeployment> row = deployments.get(parts.get(1));
    if (row.isEmpty()) {
      return;
    }
    String name = row.get().getName();
    if (parts.size() == 2
        || Rollover.versions(row.get()).stream()
            .map(String::valueOf)
            .anyMatch(parts.get(2)::equals)) {
      refuse(name, path);
    } else if (parts.get(2).equals(ModelPaths.LABELS)
        && (parts.size() == 3 || parts.get(3).equals(ModelPaths.STABLE))) {
      guard.deploy(name);
    }
  }

  private static void refuse(String name, String path) {
    throw invalidRequest(
        "'%.200s' is not changed or removed: the nodes serve the model %s. The files of a version"
            + " that is served stay as they are, since its processes may be started again. Undeploy"
            + " the model first: tensorflow-ignite model undeploy %2$s",
        path, name);
  }
}
