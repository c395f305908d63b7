package io.tensorflowignite.table;

import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.region.OwnRegion;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * The caches of the service, with their names and modes. They keep Ignite's partition loss policy
 * IGNORE: the service must go on with the rows that are left, and write new ones, without a command
 * of an operator. What is lost is in the table of losses, for {@code nodes} and {@code doctor}.
 */
public enum SystemCache {
  JOBS("jobs", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  REPORTS("reports", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  NODES("nodes", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC),
  LOGS("logs", CacheMode.PARTITIONED, CacheAtomicityMode.ATOMIC),
  SCHEMAS("schemas", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  LOSSES("losses", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  FENCES("fences", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  FINISHED("finished", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  HISTORY("history", CacheMode.PARTITIONED, CacheAtomicityMode.TRANSACTIONAL, 2),
  EPOCHS("epochs", CacheMode.PARTITIONED, CacheAtomicityMode.TRANSACTIONAL, 2, 64),
  DEPLOYMENTS("deployments", CacheMode.REPLICATED, CacheAtomicityMode.TRANSACTIONAL),
  MODEL_STATES("model-states", CacheMode.REPLICATED, CacheAtomicityMode.ATOMIC);

  /** The name of every system cache, or of its group, begins with this. */
  public static final String PREFIX = "tensorflow-ignite-";

  /** Ignite's own caches; {@code Ignite.cache} throws for them. */
  public static final String IGNITE_PREFIX = "ignite-sys-";

  private final String cacheName;
  private final CacheMode mode;
  private final CacheAtomicityMode atomicity;
  private final int backups;

  /** 0: as many as Ignite makes, of which each has some pages, also without rows. */
  private final int partitions;

  SystemCache(String suffix, CacheMode mode, CacheAtomicityMode atomicity) {
    this(suffix, mode, atomicity, 1);
  }

  SystemCache(String suffix, CacheMode mode, CacheAtomicityMode atomicity, int backups) {
    this(suffix, mode, atomicity, backups, 0);
  }

  /**
   * @param backups copies of a partition besides the primary one
   */
  SystemCache(
      String suffix, CacheMode mode, CacheAtomicityMode atomicity, int backups, int partitions) {
    this.cacheName = PREFIX + suffix;
    this.mode = mode;
    this.atomicity = atomicity;
    this.backups = backups;
    this.partitions = partitions;
  }

  public String cacheName() {
    return cacheName;
  }

  /** The sorted names of all caches that are not system caches. */
  public static List<String> userCaches(Ignite ignite) {
    return ignite.cacheNames().stream()
        .filter(name -> !isSystem(ignite, name))
        .sorted()
        .collect(Collectors.toList());
  }

  /** Whether a cache is a system cache, or its name is reserved for one. */
  public static boolean isSystem(Ignite ignite, String name) {
    return name.startsWith(PREFIX) || group(ignite, name).startsWith(PREFIX);
  }

  /** Does not open the cache, which would start it on this node. */
  private static String group(Ignite ignite, String name) {
    return CacheDescriptor.of(ignite, name)
        .map(cache -> cache.configuration().getGroupName())
        .orElse("");
  }

  /** Opens the cache, and creates it when it does not exist. */
  public IgniteCache<String, byte[]> open(Ignite ignite) {
    CacheConfiguration<String, byte[]> configuration =
        new CacheConfiguration<String, byte[]>(cacheName)
            .setCacheMode(mode)
            .setAtomicityMode(atomicity)
            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC);
    if (mode == CacheMode.PARTITIONED) {
      configuration.setBackups(backups);
      if (partitions > 0) {
        configuration.setAffinity(new RendezvousAffinityFunction(false, partitions));
      }
    }
    return OwnRegion.getOrCreate(ignite, configuration);
  }
}
