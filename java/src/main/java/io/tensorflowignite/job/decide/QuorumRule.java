package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.Quorum.QUORUM_NONE;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * When a network is cut, both sides of an in-memory cluster of Ignite continue, and each can write
 * its job table. So an attempt starts, and goes on, only on a side with a majority of the job's
 * members: more than half of them, or half of them with the oldest. Members are counted by their
 * consistent ids: a node that was started again is the same member.
 */
public final class QuorumRule {
  private QuorumRule() {}

  /**
   * Whether the nodes have a majority of the job's members. A job without members, which an earlier
   * version has submitted, needs none before its first attempt.
   *
   * @param consistentIds the consistent ids of nodes that are connected
   */
  public static boolean holds(Job job, Set<String> consistentIds) {
    return job.getSpec().getRestart().getQuorum() == QUORUM_NONE
        || job.getMembersCount() == 0
        || isMajority(job.getMembersList(), consistentIds);
  }

  /**
   * Whether the connected nodes are a majority.
   *
   * @param nodes all nodes that count: at least one
   */
  public static boolean isMajority(Collection<Node> nodes, Set<String> consistentIds) {
    int twice = 2 * (nodes.size() - missing(nodes, consistentIds).size());
    return twice > nodes.size()
        || (twice == nodes.size() && consistentIds.contains(oldest(nodes).getConsistentId()));
  }

  /** The members of the job that are not among the connected nodes. */
  public static List<Node> missing(Job job, Set<String> consistentIds) {
    return missing(job.getMembersList(), consistentIds);
  }

  /** The nodes that are not connected. */
  public static List<Node> missing(Collection<Node> nodes, Set<String> consistentIds) {
    return nodes.stream()
        .filter(node -> !consistentIds.contains(node.getConsistentId()))
        .collect(Collectors.toList());
  }

  /** What the job waits for while its members have no majority. */
  static String waitingFor(Job job, Observation observation) {
    List<Node> missing = missing(job, observation.consistentIds);
    return String.format(
        "a majority of the %d nodes of its cluster (quorum=majority: more than half, or half with"
            + " the oldest, node %s); %d are here, missing: %s. Start them again; or, if they are"
            + " permanently off: tensorflow-ignite quorum accept %s",
        job.getMembersCount(),
        MessageText.shortId(oldest(job.getMembersList()).getId()),
        job.getMembersCount() - missing.size(),
        missing.stream()
            .map(node -> MessageText.shortId(node.getId()) + " at " + node.getAddress())
            .collect(Collectors.joining(", ")),
        job.getId());
  }

  private static Node oldest(Collection<Node> nodes) {
    return nodes.stream().min(Comparator.comparingLong(Node::getOrder)).get();
  }
}
