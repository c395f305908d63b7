package io.tensorflowignite.ignite;

import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.CacheGroupContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.GridDhtPartitionMap;

/** Copies of partitions that this node is to have, and does not have completely yet. */
public final class MovingPartitions {
  private MovingPartitions() {}

  /**
   * The number of groups of caches of which this node waits for copies. It costs little: Ignite
   * counts moving partitions.
   */
  public static long groups(Ignite ignite) {
    UUID here = ignite.cluster().localNode().id();
    return ((IgniteEx) ignite)
        .context().cache().cacheGroups().stream().filter(group -> isMoving(group, here)).count();
  }

  private static boolean isMoving(CacheGroupContext group, UUID node) {
    GridDhtPartitionMap copies = group.topology().partitions(node);
    return copies != null && copies.hasMovingPartitions();
  }
}
