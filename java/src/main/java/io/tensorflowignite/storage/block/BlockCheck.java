package io.tensorflowignite.storage.block;

import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.v1.CheckBlocksResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.cache.Cache;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.cluster.ClusterNode;

/**
 * Verifies every block that this node owns, and reports the blocks by extent. An extent may be
 * reported several times: the scan follows the order of partitions.
 */
public final class BlockCheck {
  private static final Pattern KEY = Pattern.compile("([0-9a-f]{32})/(\\d{1,9})");
  private static final int BLOCKS_PER_SCAN = 4_096;
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long SCAN_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A partition of a cache with blocks. */
  private static final class Partition {
    final IgniteCache<String, byte[]> cache;
    final int number;

    Partition(IgniteCache<String, byte[]> cache, int number) {
      this.cache = cache;
      this.number = number;
    }
  }

  private final Ignite ignite;
  private final ClusterNode local;
  private final Supplier<Predicate<String>> pending;
  private final BooleanSupplier cancelled;
  private final Iterator<Partition> partitions;
  private final Map<String, CheckBlocksResponse.Builder> unreported = new LinkedHashMap<>();
  private int scanned;

  /**
   * @param pending returns the extents that are being written or removed at the moment of the call
   * @param cancelled whether the caller has cancelled the check
   */
  public BlockCheck(
      Ignite ignite,
      StorageCaches caches,
      Supplier<Predicate<String>> pending,
      BooleanSupplier cancelled) {
    this.pending = pending;
    this.cancelled = cancelled;
    this.ignite = ignite;
    local = ignite.cluster().localNode();
    List<Partition> owned = new ArrayList<>();
    for (IgniteCache<String, byte[]> cache : caches.allWithBlocks()) {
      for (int number : ignite.affinity(cache.getName()).primaryPartitions(local)) {
        owned.add(new Partition(cache, number));
      }
    }
    partitions = owned.iterator();
  }

  /** The next report on an extent; null after the last one. */
  public CheckBlocksResponse next() {
    if (unreported.isEmpty()) {
      long end = System.nanoTime() + SCAN_NANOS;
      scanned = 0;
      do {
        while (partitions.hasNext() && scanned < BLOCKS_PER_SCAN && System.nanoTime() < end) {
          scanWithRetry(partitions.next());
        }
      } while (unreported.isEmpty() && partitions.hasNext() && !cancelled.getAsBoolean());
      markPending();
    }
    String extent = unreported.isEmpty() ? null : unreported.keySet().iterator().next();
    return extent == null ? null : unreported.remove(extent).build();
  }

  /**
   * Runs after the scan: the caller reads the files afterwards, so the caller finds an extent that
   * was published in between.
   */
  private void markPending() {
    Predicate<String> now = pending.get();
    unreported.forEach((extent, report) -> report.setPending(now.test(extent)));
  }

  private void scanWithRetry(Partition partition) {
    long end = System.nanoTime() + RETRY_NANOS;
    while (true) {
      try {
        scan(partition);
        return;
      } catch (CacheException e) {
        // The new owner scans a partition that has moved meanwhile.
        if (!local.equals(
            ignite.affinity(partition.cache.getName()).mapPartitionToNode(partition.number))) {
          return;
        }
        // A partition that has come from a node that left can be scanned a moment later.
        if (System.nanoTime() > end || cancelled.getAsBoolean()) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  private void scan(Partition partition) {
    ScanQuery<String, byte[]> query = new ScanQuery<>(partition.number);
    query.setLocal(true);
    try (QueryCursor<Cache.Entry<String, byte[]>> entries = partition.cache.query(query)) {
      for (Cache.Entry<String, byte[]> entry : entries) {
        if (cancelled.getAsBoolean()) {
          return;
        }
        verify(entry.getKey(), entry.getValue());
      }
    }
  }

  private void verify(String key, byte[] value) {
    Matcher parts = KEY.matcher(key);
    if (!parts.matches()) {
      return;
    }
    int number = Integer.parseInt(parts.group(2));
    CheckBlocksResponse.Builder report =
        unreported.computeIfAbsent(
            parts.group(1), id -> CheckBlocksResponse.newBuilder().setExtentId(id));
    report.addNumbers(number);
    Block block = Block.verified(value);
    if (block == null) {
      report.addCorrupt(number);
    } else {
      report.setBytes(report.getBytes() + block.size());
    }
    scanned++;
  }
}
