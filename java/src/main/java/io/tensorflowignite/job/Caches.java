package io.tensorflowignite.job;

import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;

/** What has to be known of a user's cache. */
final class Caches {
  private Caches() {}

  /** Whether its rows outlive its nodes' processes. */
  static boolean isPersistent(Ignite ignite, String cache) {
    DataStorageConfiguration storage = ignite.configuration().getDataStorageConfiguration();
    if (storage == null) {
      return false;
    }
    String region = configuration(ignite.cache(cache)).getDataRegionName();
    DataRegionConfiguration standard = storage.getDefaultDataRegionConfiguration();
    if (region != null && storage.getDataRegionConfigurations() != null) {
      for (DataRegionConfiguration candidate : storage.getDataRegionConfigurations()) {
        if (region.equals(candidate.getName())) {
          return candidate.isPersistenceEnabled();
        }
      }
    }
    return standard.isPersistenceEnabled();
  }

  /** Ignite asks for the raw class. */
  @SuppressWarnings("unchecked")
  private static <K, V> CacheConfiguration<K, V> configuration(IgniteCache<K, V> cache) {
    return cache.getConfiguration(CacheConfiguration.class);
  }
}
