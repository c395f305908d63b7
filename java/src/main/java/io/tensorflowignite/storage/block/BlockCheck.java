package io.tensorflowignite.storage.block;

import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.v1.CheckBlocksResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.PrimitiveIterator;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Looks at every block that this node is the primary holder of, one at a time, and tells of them
 * extent by extent. An extent is told of several times: blocks lie in the order of partitions.
 */
public final class BlockCheck {
  private static final Pattern KEY = Pattern.compile("([0-9a-f]{32})/(\\d{1,9})");
  private static final int LOOKED_AT = 4_096;
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final IgniteCache<String, byte[]> cache;
  private final Affinity<String> affinity;
  private final ClusterNode local;
  private final Supplier<Predicate<String>> pending;
  private final BooleanSupplier cancelled;
  private final PrimitiveIterator.OfInt partitions;
  private final Map<String, CheckBlocksResponse.Builder> untold = new LinkedHashMap<>();
  private int looked;

  /**
   * @param pending tells which extents are being written or removed at the moment when it is asked
   *     for
   * @param cancelled true when nobody wants to know any more
   */
  public BlockCheck(
      Ignite ignite,
      StorageCaches caches,
      Supplier<Predicate<String>> pending,
      BooleanSupplier cancelled) {
    this.pending = pending;
    this.cancelled = cancelled;
    cache = caches.blocks();
    affinity = ignite.affinity(caches.blocksName());
    local = ignite.cluster().localNode();
    partitions = IntStream.of(affinity.primaryPartitions(local)).iterator();
  }

  /** What has been found of one extent; null: that was all. */
  public CheckBlocksResponse next() {
    if (untold.isEmpty()) {
      long end = System.nanoTime() + LOOK_NANOS;
      looked = 0;
      do {
        while (partitions.hasNext() && looked < LOOKED_AT && System.nanoTime() < end) {
          look(partitions.nextInt());
        }
      } while (untold.isEmpty() && partitions.hasNext() && !cancelled.getAsBoolean());
      tellPending();
    }
    String extent = untold.isEmpty() ? null : untold.keySet().iterator().next();
    return extent == null ? null : untold.remove(extent).build();
  }

  /**
   * After the look at the blocks: what a writer published since then is of a file for who looks
   * after us.
   */
  private void tellPending() {
    Predicate<String> now = pending.get();
    untold.forEach((extent, found) -> found.setPending(now.test(extent)));
  }

  private void look(int partition) {
    long end = System.nanoTime() + SETTLE_NANOS;
    while (true) {
      try {
        scan(partition);
        return;
      } catch (CacheException e) {
        // A partition that has moved meanwhile is looked at by its new holder.
        if (!local.equals(affinity.mapPartitionToNode(partition))) {
          return;
        }
        // One that has come to this node because another is gone can be looked at a moment later.
        if (System.nanoTime() > end || cancelled.getAsBoolean()) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private void scan(int partition) {
    ScanQuery<String, byte[]> query = new ScanQuery<>(partition);
    query.setLocal(true);
    try (QueryCursor<Cache.Entry<String, byte[]>> entries = cache.query(query)) {
      for (Cache.Entry<String, byte[]> entry : entries) {
        if (cancelled.getAsBoolean()) {
          return;
        }
        look(entry.getKey(), entry.getValue());
      }
    }
  }

  private void look(String key, byte[] value) {
    Matcher parts = KEY.matcher(key);
    if (!parts.matches()) {
      return;
    }
    int number = Integer.parseInt(parts.group(2));
    CheckBlocksResponse.Builder found =
        untold.computeIfAbsent(
            parts.group(1), id -> CheckBlocksResponse.newBuilder().setExtentId(id));
    found.addNumbers(number);
    Block block = Block.verified(value);
    if (block == null) {
      found.addCorrupt(number);
    } else {
      found.setBytes(found.getBytes() + block.size());
    }
    looked++;
  }
}
