package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.Role.ROLE_CLIENT;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.Role.ROLE_NAMED;
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
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The tasks of an attempt with their nodes and partitions: the workers of each node, which share
 * its partitions, in the order in which the nodes joined; tasks of other roles spread over the same
 * nodes, parameter servers perhaps over others; the client process on the node that hosts the job's
 * service.
 */
public final class Placement {
  private final JobSpec spec;
  final List<Task> tasks;

  /** Identifies the assignment: the cache, and the partitions that each node reads. */
  public final String digest;

  final List<Node> members;

  private Placement(JobSpec spec, List<Task> tasks, String digest, List<Node> members) {
    this.spec = spec;
    this.tasks = tasks;
    this.digest = digest;
    this.members = members;
  }

  /**
   * @param readers the partitions that the workers of each node read, in the order in which the
   *     nodes joined; each node has at least one partition.
   * @param servers the nodes of parameter servers, at least one
   * @param clientNode the node of the client process.
   * @param members every node that runs the service, with and without partitions.
   */
  public static Placement of(
      JobSpec spec,
      Map<Node, List<Integer>> readers,
      List<Node> servers,
      Node clientNode,
      List<Node> members) {
    List<Task> tasks = new ArrayList<>();
    readers.forEach(
        (node, partitions) ->
            shares(partitions, workers(spec, node))
                .forEach(
                    share ->
                        tasks.add(
                            task(ROLE_WORKER, tasks.size(), node)
                                .addAllPartitions(share)
                                .build())));
    String digest = digest(spec.getCache(), tasks);
    if (KindRules.of(spec).hasParameterServers()) {
      for (int i = 0; i < Math.max(1, spec.getStrategy().getServers()); i++) {
        tasks.add(task(ROLE_PS, i, servers.get(i % servers.size())).build());
      }
      tasks.add(task(ROLE_CLIENT, 0, clientNode).build());
    }
    List<Node> nodes = List.copyOf(readers.keySet());
    addNamed(spec, nodes, tasks);
    if (spec.hasEvaluator()) {
      // The chief, which does more work than the other workers, is on the first node.
      tasks.add(task(ROLE_EVALUATOR, 0, nodes.get(nodes.size() - 1)).build());
    }
    return new Placement(spec, tasks, digest, members);
  }

  /**
   * The partitions that the workers of each node read. A node reads its own partitions. The nodes
   * with the fewest partitions read the other owners' partitions over the network.
   *
   * @param owners the primary partitions of each node
   * @param candidates the nodes that may get workers, at least one
   * @return the candidates with partitions
   */
  public static Map<Node, List<Integer>> readers(
      Map<Node, List<Integer>> owners, List<Node> candidates) {
    Map<Node, List<Integer>> readers = new LinkedHashMap<>();
    candidates.forEach(
        node -> readers.put(node, new ArrayList<>(owners.getOrDefault(node, List.of()))));
    owners.forEach(
        (owner, partitions) -> {
          if (!readers.containsKey(owner)) {
            for (int partition : partitions) {
              Collections.min(readers.values(), Comparator.comparingInt(List::size)).add(partition);
            }
          }
        });
    readers.values().removeIf(List::isEmpty);
    readers.values().forEach(Collections::sort);
    return readers;
  }

  private static void addNamed(JobSpec spec, List<Node> nodes, List<Task> tasks) {
    int index = 0;
    // By name: the map of a message has no order of its own.
    for (Map.Entry<String, Integer> role :
        new TreeMap<>(spec.getStrategy().getRolesMap()).entrySet()) {
      for (int i = 0; i < role.getValue(); i++) {
        Node node = nodes.get(index % nodes.size());
        tasks.add(task(ROLE_NAMED, index, node).setRoleName(role.getKey()).setRoleIndex(i).build());
        index++;
      }
    }
  }

  /** The workers of a node: as many as the job requests, or as have the GPUs for it. */
  private static int workers(JobSpec spec, Node node) {
    int requested = Math.max(1, spec.getWorkers().getPerNode());
    return spec.getWorkers().getGpus() == 0
        ? requested
        : Math.min(requested, node.getGpusCount() / spec.getWorkers().getGpus());
  }

  /** The partitions of each worker of a node: in turn, since neighbours may be of one size. */
  private static List<List<Integer>> shares(List<Integer> partitions, int most) {
    int workers = Math.min(most, partitions.size());
    return IntStream.range(0, workers)
        .mapToObj(
            worker ->
                IntStream.range(0, partitions.size())
                    .filter(position -> position % workers == worker)
                    .mapToObj(partitions::get)
                    .collect(Collectors.toList()))
        .collect(Collectors.toList());
  }

  public long workers() {
    return tasks.stream().filter(task -> task.getRole() == ROLE_WORKER).count();
  }

  /** The resources that the tasks need. */
  public Map<Resource, Integer> needs() {
    return needs(spec, tasks);
  }

  /** What tasks of a job need, in a map that the caller may change. */
  static Map<Resource, Integer> needs(JobSpec spec, List<Task> tasks) {
    Map<Resource, Integer> needs = new HashMap<>();
    for (Task task : tasks) {
      needs.merge(Resource.tasks(task.getNodeId()), 1, Integer::sum);
      if (gpus(spec, task.getRole()) > 0) {
        needs.merge(Resource.gpus(task.getNodeId()), gpus(spec, task.getRole()), Integer::sum);
      }
    }
    return needs;
  }

  /** The GPUs of one task. */
  public static int gpus(JobSpec spec, Role role) {
    return role == ROLE_WORKER ? spec.getWorkers().getGpus() : 0;
  }

  private static Task.Builder task(Role role, int index, Node node) {
    return Task.newBuilder()
        .setRole(role)
        .setIndex(index)
        .setNodeId(node.getId())
        .setNodeAddress(node.getAddress());
  }

  private static String digest(String cache, List<Task> workers) {
    Hasher hasher = Hashing.sha256().newHasher().putString(cache + "\n", StandardCharsets.UTF_8);
    for (Task worker : workers) {
      hasher.putString(
          worker.getNodeId() + "=" + worker.getPartitionsList() + "\n", StandardCharsets.UTF_8);
    }
    return hasher.hash().toString();
  }
}
