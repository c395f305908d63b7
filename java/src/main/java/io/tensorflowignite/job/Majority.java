package io.tensorflowignite.job;

import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Quorum;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Ignite's in-memory clusters go on with both sides of a cut network, each with a job table that it
 * can write. So a side starts another attempt only if it is more than half of the nodes that were
 * last seen together. Nodes that are proven dead are on no side.
 */
final class Majority {
  private Majority() {}

  /** What the job waits for; empty when it may go on. */
  static Optional<String> awaited(Job job, Observation seen) {
    if (job.getSpec().getQuorum() == Quorum.NONE) {
      return Optional.empty();
    }
    List<String> silent =
        job.getMembersList().stream()
            .map(Node::getId)
            .filter(id -> !seen.nodes.contains(id) && !seen.dead.contains(id))
            .collect(Collectors.toList());
    long here =
        job.getMembersList().stream().filter(member -> seen.nodes.contains(member.getId())).count();
    if (silent.isEmpty() || here > silent.size()) {
      return Optional.empty();
    }
    return Optional.of(
        String.format(
            "more than half of the nodes last seen together (quorum=majority): %d are here, %d are"
                + " gone without a proof that they are dead (%s)",
            here,
            silent.size(),
            silent.stream().map(Texts::shortId).collect(Collectors.joining(", "))));
  }
}
