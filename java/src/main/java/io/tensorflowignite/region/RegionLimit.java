package io.tensorflowignite.region;

import org.apache.ignite.configuration.DataPageEvictionMode;
import org.apache.ignite.configuration.DataRegionConfiguration;

/** How much of one node's data region may be in use, by purpose. */
public final class RegionLimit {
  /** A region from which Ignite itself removes pages. */
  static final RegionLimit NONE = new RegionLimit("", Long.MAX_VALUE);

  /** The reserve is this fraction of the region, but at least the minimum. */
  private static final int RESERVE_DIVISOR = 10;

  private static final long MIN_RESERVE_BYTES = 32 << 20;

  final String region;
  final long size;

  RegionLimit(String region, long size) {
    this.region = region;
    this.size = size;
  }

  public static RegionLimit of(DataRegionConfiguration region) {
    // With persistence or page eviction Ignite frees pages itself.
    boolean bounded =
        !region.isPersistenceEnabled()
            && region.getPageEvictionMode() == DataPageEvictionMode.DISABLED;
    return bounded ? new RegionLimit(region.getName(), region.getMaxSize()) : NONE;
  }

  public boolean isBounded() {
    return this != NONE;
  }

  /** The bytes that may be in use after a write. */
  public long bytes(Purpose purpose) {
    long reserve = Math.min(Math.max(size / RESERVE_DIVISOR, MIN_RESERVE_BYTES), size / 2);
    return size - reserve / purpose.reserveDivisor;
  }
}
