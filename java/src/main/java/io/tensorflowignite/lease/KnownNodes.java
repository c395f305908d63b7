package io.tensorflowignite.lease;

import io.tensorflowignite.job.decide.QuorumRule;
import io.tensorflowignite.v1.Node;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * The nodes that this node last knew, and whether a majority of them is still here, by the same
 * rule as for a job ({@link QuorumRule}). A node that is stopped in order is removed at once. A
 * lost node is removed after a majority has worked without it for a minute: after a cut, Ignite
 * reports lost nodes one by one, and if each was removed at once, both sides would have a majority.
 */
final class KnownNodes {
  private static final Duration SETTLED = Duration.ofMinutes(1);

  /** Ignite reports an orderly end a moment after the node is gone. */
  private static final Duration NOTICE = Duration.ofSeconds(2);

  private final LongSupplier nanos;

  /** By consistent id. */
  private final Map<String, Node> known = new HashMap<>();

  private List<Node> missing = List.of();
  private long missingSince;
  private long minoritySince;
  private boolean minority;

  /**
   * @param nanos a monotonic clock in nanoseconds, like {@link System#nanoTime}
   */
  KnownNodes(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /**
   * Compares the nodes that are here now with those that are known.
   *
   * @param leftInOrder ids of nodes that were stopped in order
   * @return empty while a majority is here
   */
  Optional<Minority> observe(List<Node> live, Set<String> leftInOrder) {
    long now = nanos.getAsLong();
    live.forEach(node -> known.put(node.getConsistentId(), node));
    Set<String> here = live.stream().map(Node::getConsistentId).collect(Collectors.toSet());
    known
        .values()
        .removeIf(
            node -> !here.contains(node.getConsistentId()) && leftInOrder.contains(node.getId()));
    List<Node> missingNow = QuorumRule.missing(known.values(), here);
    if (!missingNow.equals(missing)) {
      missing = missingNow;
      missingSince = now;
    }
    boolean majority = known.isEmpty() || QuorumRule.isMajority(known.values(), here);
    if (majority && now - missingSince >= SETTLED.toNanos()) {
      known.keySet().retainAll(here);
    }
    if (!majority && !minority) {
      minoritySince = now;
    }
    minority = !majority;
    Duration lasting = Duration.ofNanos(now - minoritySince);
    return majority || lasting.compareTo(NOTICE) < 0
        ? Optional.empty()
        : Optional.of(new Minority(lasting, here.size(), missing));
  }
}
