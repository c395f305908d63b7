package io.tensorflowignite.region;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/** The part of a cache's rows that each node stores, by its partitions: primary and backup ones. */
public final class CacheSpread {
  private static final long MAX_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How many standard deviations a node's part may exceed its mean. */
  private static final int DEVIATIONS = 3;

  private final Ignite ignite;
  private final MemoryReserve reserve;
  private final String cache;
  private Map<ClusterNode, Double> shares;
  private long computedAt;

  public CacheSpread(Ignite ignite, String cache) {
    this.ignite = ignite;
    this.reserve = MemoryReserve.of(ignite);
    this.cache = cache;
  }

  /**
   * Reserves memory for rows with any keys.
   *
   * @param rows the sizes of the rows of one copy
   * @param what the rows in errors
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for its part.
   */
  public Reservation reserve(RowSizes rows, String what) {
    if (shares == null || System.nanoTime() - computedAt > MAX_AGE_NANOS) {
      computedAt = System.nanoTime();
      shares = shares();
    }
    return reserve.reserve(
        Purpose.DATA,
        reserve.region(cache),
        shares.keySet(),
        node -> part(rows, shares.get(node)),
        rows.total(),
        what);
  }

  /**
   * The bytes that a node may have to store. Keys choose the node of a row by chance: a node may
   * receive more than its share, and each row is stored whole, however large it is.
   *
   * @param share the probability that the node stores a row
   */
  static long part(RowSizes rows, double share) {
    double mean = share * rows.total();
    double deviation = Math.sqrt(share * (1 - Math.min(1, share)) * rows.squares());
    double whole = share < 1 ? rows.largest() : 0;
    return (long)
        Math.min(Math.max(1, share) * rows.total(), mean + DEVIATIONS * deviation + whole);
  }

  private Map<ClusterNode, Double> shares() {
    Affinity<Object> affinity = ignite.affinity(cache);
    int partitions = affinity.partitions();
    Map<ClusterNode, Double> shares = new HashMap<>();
    for (int partition = 0; partition < partitions; partition++) {
      for (ClusterNode node : affinity.mapPartitionToPrimaryAndBackups(partition)) {
        shares.merge(node, 1.0 / partitions, Double::sum);
      }
    }
    return shares;
  }
}
