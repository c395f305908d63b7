package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_STOPPING;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The members of a job: {@link QuorumRule} needs a majority of these nodes. */
public final class Members {
  private Members() {}

  /**
   * Makes the nodes the members of the job, without those that are being stopped. The row has only
   * the fields that identify each of them.
   */
  public static void set(Job.Builder job, List<Node> nodes) {
    job.clearMembers();
    for (Node node : remaining(nodes, Members::isStopping)) {
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
    JobMachine.addEvent(
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

  private static boolean isStopping(Node node) {
    return node.getAvailability() == NODE_AVAILABILITY_STOPPING;
  }

  public static Set<String> consistentIds(List<Node> nodes) {
    return nodes.stream().map(Node::getConsistentId).collect(Collectors.toSet());
  }

  /**
   * The job without a member that leaves in order. The member writes this itself before it goes, so
   * the rows on both sides of a later cut have the same members. Other nodes must not conclude it
   * from the end of the node: the node may start again on the other side of a cut, where the row
   * still has it. For the same reason it stays a member while another member is missing: this
   * change would not reach the rows on the other side.
   *
   * @param here the consistent ids of the nodes that are connected
   */
  public static Job leave(Job job, String consistentId, Set<String> here) {
    if (JobMachine.isFinal(job) || !QuorumRule.missing(job, here).isEmpty()) {
      return job;
    }
    List<Node> staying =
        remaining(job.getMembersList(), node -> node.getConsistentId().equals(consistentId));
    return job.toBuilder().clearMembers().addAllMembers(staying).build();
  }

  /** Without the nodes that leave, unless none is left then. */
  private static List<Node> remaining(List<Node> nodes, Predicate<Node> leaves) {
    List<Node> staying = nodes.stream().filter(leaves.negate()).collect(Collectors.toList());
    return staying.isEmpty() ? nodes : staying;
  }
}
