package io.tensorflowignite.predict.decide;

import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The nodes that serve a model. Each node has a rank for each model, which depends on the names of
 * both alone: so all nodes choose the same ones, and a node that joins or leaves changes one
 * choice.
 */
public final class Replicas {
  private Replicas() {}

  /**
   * The chosen nodes.
   *
   * @param nodes ids of the nodes that can serve
   * @param count 0: all
   */
  public static List<String> of(String model, Collection<String> nodes, int count) {
    return nodes.stream()
        .sorted(
            Comparator.comparingLong((String node) -> rank(model, node))
                .thenComparing(Comparator.naturalOrder()))
        .limit(count == 0 ? nodes.size() : count)
        .collect(Collectors.toList());
  }

  private static long rank(String model, String node) {
    return Hashing.sha256().hashString(model + "\n" + node, StandardCharsets.UTF_8).asLong();
  }
}
