package io.tensorflowignite.node;

import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import io.tensorflowignite.http.HealthCheck;
import io.tensorflowignite.http.NodeHealth;
import io.tensorflowignite.ignite.LocalNode;
import io.tensorflowignite.ignite.MovingPartitions;
import io.tensorflowignite.predict.ModelRunner;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.ignite.Ignite;

/**
 * The health of this node. The checks for copies and models concern its start alone: once the node
 * has been ready, it stays so while it takes over partitions and models of nodes that have left.
 * Otherwise the end of one node would take all others out of use.
 */
final class NodeChecks implements NodeHealth {
  /** Longer than a pause of the garbage collector, and than Ignite's own detection of failures. */
  private static final Duration STUCK = Duration.ofSeconds(60);

  private final Ignite ignite;
  private final NodeTable nodes;
  private final ModelRunner models;
  private volatile boolean hasStarted;

  NodeChecks(Ignite ignite, NodeTable nodes, ModelRunner models) {
    this.ignite = ignite;
    this.nodes = nodes;
    this.models = models;
  }

  @Override
  public List<HealthCheck> live() {
    return live(ignite);
  }

  /** A failure of other nodes or of the network is no reason to start this node again. */
  static List<HealthCheck> live(Ignite ignite) {
    Optional<String> failure = LocalNode.failure(ignite);
    Optional<String> stuck = LocalNode.stuckThread(ignite, STUCK);
    return List.of(
        new HealthCheck(
            "ignite",
            failure.isEmpty(),
            failure
                .map(kind -> "Ignite cannot continue on this node: " + kind)
                .orElse("Ignite runs")),
        new HealthCheck(
            "threads",
            stuck.isEmpty(),
            stuck
                .map(name -> name + " shows no sign of life for " + STUCK.toSeconds() + " s")
                .orElse("all threads of Ignite go on")));
  }

  @Override
  public List<HealthCheck> ready() {
    List<HealthCheck> checks = new ArrayList<>(live());
    if (LocalNode.isStopping(ignite)) {
      checks.add(new HealthCheck("use", false, "the node stops"));
      return checks;
    }
    Optional<Node> row = nodes.get(LocalNode.id(ignite).toString());
    checks.add(use(row));
    checks.add(agent(row));
    HealthCheck partitions = partitions();
    HealthCheck model = models();
    checks.add(partitions);
    checks.add(model);
    if (checks.stream().allMatch(HealthCheck::isOk)) {
      hasStarted = true;
    }
    return checks;
  }

  private static HealthCheck use(Optional<Node> row) {
    if (row.isEmpty()) {
      return new HealthCheck("use", false, "the node starts");
    }
    if (row.get().getAvailability() == NODE_AVAILABILITY_UNSPECIFIED) {
      return new HealthCheck("use", true, "the node is in use");
    }
    boolean stops = row.get().getAvailability() == NODE_AVAILABILITY_STOPPING;
    return new HealthCheck("use", false, stops ? "the node stops" : "the node is drained");
  }

  /** Of the row, since other nodes choose this one for a model by its row. */
  private static HealthCheck agent(Optional<Node> row) {
    boolean answers =
        row.filter(node -> node.getAgent().getPid() != 0 && node.getAgent().getError().isEmpty())
            .isPresent();
    return new HealthCheck(
        "agent",
        answers,
        answers ? "the agent answers" : "the agent does not answer; `nodes` names the reason");
  }

  private HealthCheck partitions() {
    long moving = MovingPartitions.groups(ignite);
    String text =
        moving == 0
            ? "the node has its copies of all partitions"
            : "the node waits for copies of partitions of " + moving + " groups of caches";
    return new HealthCheck("partitions", hasStarted || moving == 0, text);
  }

  private HealthCheck models() {
    OptionalLong cold = models.coldModels();
    String text =
        cold.isEmpty()
            ? "the node does not know all models yet"
            : cold.getAsLong() == 0
                ? "the models of this node are loaded"
                : cold.getAsLong() + " models of this node are not loaded";
    return new HealthCheck("models", hasStarted || cold.orElse(1) == 0, text);
  }
}
