package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.Quorum.QUORUM_NONE;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * When a network is cut, both sides of an in-memory cluster of Ignite continue, and each can write
 * its job table. So a side starts another attempt only if it has more than half of the nodes that
 * the last attempt began with. Nodes that are proven dead are not counted.
 */
final class QuorumRule {
  private QuorumRule() {}

  /** The condition that the job waits for; empty when it may continue. */
  static Optional<String> waitingFor(Job job, Observation observation) {
    if (job.getSpec().getQuorum() == QUORUM_NONE) {
      return Optional.empty();
    }
    List<String> silent =
        job.getMembersList().stream()
            .map(Node::getId)
            .filter(id -> !observation.nodes.contains(id) && !observation.dead.contains(id))
            .collect(Collectors.toList());
    long here =
        job.getMembersList().stream()
            .filter(member -> observation.nodes.contains(member.getId()))
            .count();
    if (silent.isEmpty() || here > silent.size()) {
      return Optional.empty();
    }
    return Optional.of(
        String.format(
            "more than half of the nodes last seen together (quorum=majority): %d are here, %d have"
                + " left without proof that they are dead (%s)",
            here,
            silent.size(),
            silent.stream().map(MessageText::shortId).collect(Collectors.joining(", "))));
  }
}
