package io.tensorflowignite.region;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/** The nodes that store the rows of a cache, by partition: primary and backup copies. */
public final class CacheSpread {
  private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final MemoryReserve reserve;
  private final Affinity<Object> affinity;
  private final String cache;
  private final Map<Integer, Collection<ClusterNode>> nodes = new HashMap<>();
  private long knownAt = System.nanoTime();

  public CacheSpread(Ignite ignite, String cache) {
    this.reserve = MemoryReserve.of(ignite);
    this.affinity = ignite.affinity(cache);
    this.cache = cache;
  }

  /** The partition of a key. Thread-safe. */
  public int partition(Object key) {
    return affinity.partition(key);
  }

  /**
   * Reserves memory for rows on all nodes that store them. Not thread-safe.
   *
   * @param rows the bytes of the rows of one copy, by partition
   * @param what the rows in errors
   * @return empty: rows of this node that are on their way should be stored before
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for its part.
   */
  public Optional<Reservation> reserve(Map<Integer, Long> rows, String what) {
    if (System.nanoTime() - knownAt > MAX_AGE_NANOS) {
      knownAt = System.nanoTime();
      nodes.clear();
    }
    Map<ClusterNode, Long> parts = new HashMap<>();
    long total = 0;
    for (Map.Entry<Integer, Long> partition : rows.entrySet()) {
      total += partition.getValue();
      for (ClusterNode node :
          nodes.computeIfAbsent(partition.getKey(), affinity::mapPartitionToPrimaryAndBackups)) {
        parts.merge(node, partition.getValue(), Long::sum);
      }
    }
    String region = reserve.region(cache);
    return reserve.isCrowded(region, parts.keySet(), parts::get)
        ? Optional.empty()
        : Optional.of(
            reserve.reserve(Purpose.DATA, region, parts.keySet(), parts::get, total, what));
  }
}
