package io.tensorflowignite.storage.block;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;

/**
 * Keeps a part of this node's memory free. Ignite ends a node whose data region is full, and then
 * the next one, which has to take its data; so who writes blocks is refused before that. What is
 * kept free is for copies from other nodes, whose partitions are not all of one size, for blocks
 * under way, and for the records of files and jobs.
 */
final class Room {
  private static final int KEPT_FREE = 10;
  private static final long KEPT_FREE_AT_LEAST = 32 << 20;

  private final Ignite ignite;
  private final DataRegionConfiguration region;
  private final long limit;

  Room(Ignite ignite, IgniteCache<?, ?> cache) {
    this.ignite = ignite;
    this.region = region(ignite.configuration().getDataStorageConfiguration(), regionName(cache));
    long size = region.getMaxSize();
    long kept = Math.min(Math.max(size / KEPT_FREE, KEPT_FREE_AT_LEAST), size / 2);
    // With persistence, what does not fit is on disk.
    boolean bounded =
        !region.isPersistenceEnabled()
            && region.getPageEvictionMode() == DataPageEvictionMode.DISABLED;
    this.limit = bounded ? size - kept : Long.MAX_VALUE;
  }

  /** Throws when so many bytes more would use what is kept free. */
  void require(int bytes) {
    if (limit == Long.MAX_VALUE) {
      return;
    }
    long used = used();
    if (used + bytes > limit) {
      throw new TensorFlowIgniteException(
          ErrorCode.STORAGE_FULL,
          String.format(
              "There is no room for a block of %,d bytes: data region '%s' of node %s has %,d of"
                  + " %,d bytes in use. From %,d on files are refused, since Ignite ends a node"
                  + " whose memory is full. Remove files (tensorflow-ignite fs du tells where they"
                  + " are), add nodes, or give the region more memory.",
              bytes,
              region.getName(),
              ignite.cluster().localNode().id(),
              used,
              region.getMaxSize(),
              limit));
    }
  }

  // What is to be used instead of this interface has the same numbers as texts only.
  @SuppressWarnings("deprecation")
  private long used() {
    // One of the few that are counted also where metrics are not enabled.
    return ignite.dataRegionMetrics(region.getName()).getTotalUsedSize();
  }

  @SuppressWarnings("unchecked")
  private static String regionName(IgniteCache<?, ?> cache) {
    return cache.getConfiguration(CacheConfiguration.class).getDataRegionName();
  }

  private static DataRegionConfiguration region(DataStorageConfiguration storage, String name) {
    DataRegionConfiguration first = storage.getDefaultDataRegionConfiguration();
    if (name == null || name.equals(first.getName())) {
      return first;
    }
    for (DataRegionConfiguration region : storage.getDataRegionConfigurations()) {
      if (region.getName().equals(name)) {
        return region;
      }
    }
    throw new IllegalStateException("No data region is called " + name);
  }
}
