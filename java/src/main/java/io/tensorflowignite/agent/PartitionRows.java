package io.tensorflowignite.agent;

import io.tensorflowignite.v1.Task;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.affinity.Affinity;

/** The number of rows that a task reads. */
final class PartitionRows {
  private PartitionRows() {}

  static long count(Ignite ignite, String cacheName, Task task) {
    IgniteCache<Object, Object> cache =
        task.getPartitionsCount() == 0 ? null : ignite.cache(cacheName);
    if (cache == null) {
      return 0;
    }
    Affinity<Object> affinity = ignite.affinity(cacheName);
    return task.getPartitionsList().stream()
        .mapToLong(
            partition ->
                affinity.mapPartitionToNode(partition).isLocal()
                    ? cache.localSizeLong(partition, CachePeekMode.PRIMARY)
                    // The partition of a drained node.
                    : cache.sizeLong(partition, CachePeekMode.PRIMARY))
        .sum();
  }
}
