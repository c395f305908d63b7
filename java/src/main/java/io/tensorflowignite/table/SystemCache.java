package io.tensorflowignite.table;

import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.configuration.CacheConfiguration;

/** The caches that belong to the system, by name and kind. */
public enum SystemCache {
  JOBS("jobs", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  REPORTS("reports", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  NODES("nodes", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  LOGS("logs", CacheMode.PARTITIONED, CacheAtomicityMode.ATOMIC),
  /** On every node: an attempt must find its code on whichever nodes are left. */
  CODE("code", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  SCHEMAS("schemas", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL);

  /** Every system cache's name begins so. */
  public static final String PREFIX = "tensorflow-ignite-";

  private static final int BACKUPS = 1;

  private final String cacheName;
  private final CacheMode mode;
  private final CacheAtomicityMode atomicity;

  SystemCache(String suffix, CacheMode mode, CacheAtomicityMode atomicity) {
    this.cacheName = PREFIX + suffix;
    this.mode = mode;
    this.atomicity = atomicity;
  }

  public String cacheName() {
    return cacheName;
  }

  /** The cache, made when it does not exist. */
  public IgniteCache<String, byte[]> open(Ignite ignite) {
    CacheConfiguration<String, byte[]> configuration =
        new CacheConfiguration<String, byte[]>(cacheName)
            .setCacheMode(mode)
            .setAtomicityMode(atomicity)
            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
    if (mode == CacheMode.PARTITIONED) {
      configuration.setBackups(BACKUPS);
    }
    return ignite.getOrCreateCache(configuration);
  }
}
