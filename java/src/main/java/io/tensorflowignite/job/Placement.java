package io.tensorflowignite.job;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Which tasks an attempt has, on which nodes, reading which partitions. One worker beside each node
 * that owns primary partitions, in the order in which the nodes joined; parameter servers spread
 * over the same nodes; the client process on the node that hosts the job's service.
 */
final class Placement {
  private final List<Task> tasks;
  private final String digest;
  private final List<Node> members;

  private Placement(List<Task> tasks, String digest, List<Node> members) {
    this.tasks = tasks;
    this.digest = digest;
    this.members = members;
  }

  /**
   * @param owners primary partitions by node, in the order in which the nodes joined; no node
   *     without a partition.
   * @param clientNode the node of the client process.
   * @param members every node that runs the service, whether it owns a partition or not.
   */
  static Placement of(
      JobSpec spec, Map<Node, List<Integer>> owners, Node clientNode, List<Node> members) {
    List<Task> tasks = new ArrayList<>();
    owners.forEach(
        (node, partitions) ->
            tasks.add(task(Role.WORKER, tasks.size(), node).addAllPartitions(partitions).build()));
    if (spec.getKind() == JobKind.PARAMETER_SERVER) {
      List<Node> nodes = new ArrayList<>(owners.keySet());
      for (int i = 0; i < Math.max(1, spec.getPsCount()); i++) {
        tasks.add(task(Role.PS, i, nodes.get(i % nodes.size())).build());
      }
      tasks.add(task(Role.CLIENT, 0, clientNode).build());
    }
    return new Placement(tasks, digest(spec.getCache(), owners), members);
  }

  List<Task> tasks() {
    return tasks;
  }

  /** Identifies which node reads which partitions of which cache. */
  String digest() {
    return digest;
  }

  List<Node> members() {
    return members;
  }

  private static Task.Builder task(Role role, int index, Node node) {
    return Task.newBuilder()
        .setRole(role)
        .setIndex(index)
        .setNodeId(node.getId())
        .setNodeAddress(node.getAddress());
  }

  private static String digest(String cache, Map<Node, List<Integer>> owners) {
    Hasher hasher = Hashing.sha256().newHasher().putString(cache + "\n", StandardCharsets.UTF_8);
    owners.forEach(
        (node, partitions) ->
            hasher.putString(node.getId() + "=" + partitions + "\n", StandardCharsets.UTF_8));
    return hasher.hash().toString();
  }
}
