package io.tensorflowignite.job.decide;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The members of a job: {@link QuorumRule} needs a majority of these nodes. */
public final class Members {
  private Members() {}

  /** Makes the nodes the members of the job: what names each of them, since every row has all. */
  public static void set(Job.Builder job, List<Node> nodes) {
    job.clearMembers();
    for (Node node : nodes) {
      job.addMembers(
          Node.newBuilder()
              .setId(node.getId())
              .setConsistentId(node.getConsistentId())
              .setOrder(node.getOrder())
              .setAddress(node.getAddress()));
    }
  }

  /**
   * Makes the nodes of this cluster the members of an unfinished job. The caller is responsible
   * that no process of the job runs on other nodes.
   */
  public static Job accept(Job job, List<Node> nodes, String caller, Timestamp now) {
    List<Node> missing = QuorumRule.missing(job, consistentIds(nodes));
    if (JobMachine.isFinal(job) || missing.isEmpty()) {
      return job;
    }
    Job.Builder accepted = job.toBuilder();
    set(accepted, nodes);
    JobActions.addEvent(
        accepted,
        now,
        String.format(
            "%s accepted the quorum: the job goes on without %s",
            caller.isEmpty() ? "a caller" : caller,
            missing.stream()
                .map(node -> "node " + MessageText.shortId(node.getId()))
                .collect(Collectors.joining(", "))));
    return accepted.build();
  }

  public static Set<String> consistentIds(List<Node> nodes) {
    return nodes.stream().map(Node::getConsistentId).collect(Collectors.toSet());
  }

  /** A node that leaves in order has ended its tasks, and cannot be on the other side of a cut. */
  static void removeDeparted(Job.Builder job, Observation observation) {
    List<Node> staying =
        job.getMembersList().stream()
            .filter(
                member ->
                    !observation.leftInOrder.contains(member.getId())
                        || observation.consistentIds.contains(member.getConsistentId()))
            .collect(Collectors.toList());
    if (staying.size() < job.getMembersCount() && !staying.isEmpty()) {
      job.clearMembers().addAllMembers(staying);
    }
  }
}
