package io.tensorflowignite.job;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Remembers on which nodes the copies of each partition are, to know which partitions have lost
 * them all when nodes leave. An in-memory cluster with Ignite's default policy (IGNORE) goes on
 * with empty partitions then, and tells nobody.
 */
final class CopyWatch {
  /**
   * Copies are made while the map still changes; a map counts once it has not changed for so long.
   */
  private static final long SETTLED_NS = TimeUnit.SECONDS.toNanos(1);

  private static final class Copies {
    List<Set<UUID>> settled = List.of();
    List<Set<UUID>> candidate = List.of();
    long candidateSinceNs;
  }

  private final Ignite ignite;
  private final Map<String, Copies> caches = new HashMap<>();

  CopyWatch(Ignite ignite) {
    this.ignite = ignite;
  }

  /**
   * Looks at the copies of these caches now, and forgets all others.
   *
   * @param lost told each cache and partition that has lost all its copies since they were last
   *     settled.
   */
  void look(Set<String> names, BiConsumer<String, Integer> lost) {
    caches.keySet().retainAll(names);
    for (String name : names) {
      Copies copies = caches.computeIfAbsent(name, cache -> new Copies());
      tellLost(name, copies.settled, lost);
      List<Set<UUID>> now = copiesNow(name);
      if (!now.equals(copies.candidate)) {
        copies.candidate = now;
        copies.candidateSinceNs = System.nanoTime();
      } else if (System.nanoTime() - copies.candidateSinceNs >= SETTLED_NS) {
        copies.settled = now;
      }
    }
  }

  private void tellLost(String name, List<Set<UUID>> settled, BiConsumer<String, Integer> lost) {
    for (int partition = 0; partition < settled.size(); partition++) {
      if (settled.get(partition).stream().noneMatch(id -> ignite.cluster().node(id) != null)) {
        lost.accept(name, partition);
      }
    }
  }

  private List<Set<UUID>> copiesNow(String name) {
    Affinity<Object> affinity = ignite.affinity(name);
    List<Set<UUID>> copies = new ArrayList<>();
    for (int partition = 0; partition < affinity.partitions(); partition++) {
      copies.add(
          affinity.mapPartitionToPrimaryAndBackups(partition).stream()
              .map(ClusterNode::id)
              .collect(Collectors.toCollection(HashSet::new)));
    }
    return copies;
  }
}
