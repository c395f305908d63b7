package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The tasks of an attempt with their nodes and partitions: one worker beside each node that owns
 * primary partitions, in the order in which the nodes joined; parameter servers spread over the
 * same nodes; the client process on the node that hosts the job's service.
 */
public final class Placement {
  private final List<Task> tasks;
  private final String digest;
  private final List<Node> members;

  private Placement(List<Task> tasks, String digest, List<Node> members) {
    this.tasks = tasks;
    this.digest = digest;
    this.members = members;
  }

  /**
   * @param owners primary partitions by node, in the order in which the nodes joined; each node has
   *     at least one partition.
   * @param clientNode the node of the client process.
   * @param members every node that runs the service, with and without partitions.
   */
  public static Placement of(
      JobSpec spec, Map<Node, List<Integer>> owners, Node clientNode, List<Node> members) {
    List<Task> tasks = new ArrayList<>();
    owners.forEach(
        (node, partitions) ->
            tasks.add(task(ROLE_WORKER, tasks.size(), node).addAllPartitions(partitions).build()));
    if (spec.getKind() == JOB_KIND_PARAMETER_SERVER) {
      List<Node> nodes = new ArrayList<>(owners.keySet());
      for (int i = 0; i < Math.max(1, spec.getPsCount()); i++) {
        tasks.add(task(ROLE_PS, i, nodes.get(i % nodes.size())).build());
      }
      tasks.add(task(ROLE_CLIENT, 0, clientNode).build());
    }
    return new Placement(tasks, digest(spec.getCache(), owners), members);
  }

  List<Task> tasks() {
    return tasks;
  }

  /** The number of tasks by id of a node. */
  public Map<String, Integer> tasksByNode() {
    return tasksByNode(tasks);
  }

  /** The number of tasks by id of a node, in a map that the caller may change. */
  static Map<String, Integer> tasksByNode(List<Task> tasks) {
    return tasks.stream()
        .collect(Collectors.toMap(Task::getNodeId, task -> 1, Integer::sum, HashMap::new));
  }

  /** Identifies the assignment: the cache, and the partitions that each node reads. */
  public String digest() {
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
