package io.tensorflowignite.table;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/** The caches that belong to the system, by name and kind. */
public enum SystemCache {
  JOBS("jobs", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  REPORTS("reports", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  NODES("nodes", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  LOGS("logs", CacheMode.PARTITIONED, CacheAtomicityMode.ATOMIC),
  SCHEMAS("schemas", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL);

  /** Every system cache's name begins so, or that of its group. */
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

  /** The names of the caches that are not the system's, sorted. */
  public static List<String> userCaches(Ignite ignite) {
    return ignite.cacheNames().stream()
        .filter(name -> !isSystem(ignite, name))
        .sorted()
        .collect(Collectors.toList());
  }

  /** Whether a cache is the system's, or its name is kept for one. */
  public static boolean isSystem(Ignite ignite, String name) {
    return name.startsWith(PREFIX) || group(ignite, name).startsWith(PREFIX);
  }

  /** From what every node knows: to look at a cache itself would open it here. */
  private static String group(Ignite ignite, String name) {
    DynamicCacheDescriptor cache = ((IgniteEx) ignite).context().cache().cacheDescriptor(name);
    String group = cache == null ? null : cache.cacheConfiguration().getGroupName();
    return group == null ? "" : group;
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
