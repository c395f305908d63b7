package io.tensorflowignite.job;

import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/**
 * The attributes of Ignite nodes (userAttributes of their configurations) by which jobs choose
 * nodes.
 */
public final class NodeAttributes {
  private NodeAttributes() {}

  /** Whether a node has all expected attributes with these values, compared as texts. */
  public static boolean have(Ignite ignite, Node node, Map<String, String> expected) {
    ClusterNode known = ignite.cluster().node(UUID.fromString(node.getId()));
    return known != null
        && expected.entrySet().stream()
            .allMatch(entry -> has(known, entry.getKey(), entry.getValue()));
  }

  private static boolean has(ClusterNode node, String name, String value) {
    Object found = node.attribute(name);
    return found != null && value.equals(found.toString());
  }

  /** Whether a node has the attributes and the GPUs that the workers of a job need. */
  public static boolean suit(Ignite ignite, Node node, JobSpec spec) {
    return node.getGpusCount() >= spec.getWorkers().getGpus()
        && have(ignite, node, spec.getWorkers().getNodesMap());
  }

  /** For messages: rack=a, zone=b. */
  public static String text(Map<String, String> attributes) {
    return "the attribute "
        + new TreeMap<>(attributes)
            .entrySet().stream()
                .map(attribute -> attribute.getKey() + "=" + attribute.getValue())
                .collect(Collectors.joining(" and "));
  }
}
