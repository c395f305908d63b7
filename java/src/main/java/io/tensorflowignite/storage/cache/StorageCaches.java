package io.tensorflowignite.storage.cache;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.StorageSettings;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * The store's two caches. They are looked up for each use: a cache may be destroyed and made anew.
 */
public final class StorageCaches {
  private final Ignite ignite;
  private final StorageSettings settings;
  private final String files;
  private final String blocks;

  public StorageCaches(Ignite ignite, StorageSettings settings) {
    this.ignite = ignite;
    this.settings = settings;
    this.files = settings.name() + "-files";
    this.blocks = settings.name() + "-blocks";
  }

  /** Makes what is missing: the caches and the root directory. */
  public void create() {
    String region = settings.dataRegion();
    if (region != null && ignite.dataRegionMetrics(region) == null) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "The data region '%s' is not configured on this node. TensorFlowService's"
                  + " storageDataRegion names a region that every node has. Configure it on this"
                  + " node, or leave the property out.",
              region));
    }
    byte[] root =
        DirectoryState.newBuilder()
            .setCreatedAt(Timestamps.fromMillis(System.currentTimeMillis()))
            .build()
            .toByteArray();
    IgniteCache<String, byte[]> made =
        ignite.getOrCreateCache(configuration(files).setCacheMode(CacheMode.REPLICATED));
    // While nodes come and go, or the cluster has just become active, Ignite may roll it back.
    Changes.repeat(
        "Making the store's root directory",
        left -> made.putIfAbsent(Records.stateKey(Records.ROOT), root));
    ignite.getOrCreateCache(
        configuration(blocks)
            .setCacheMode(CacheMode.PARTITIONED)
            .setBackups(settings.backups())
            // Nobody changes the array of a block, so Ignite need not hand out copies of it.
            .setCopyOnRead(false));
  }

  /** The metadata, on every node. */
  public IgniteCache<String, byte[]> files() {
    return open(files);
  }

  /** The blocks, spread over the nodes. */
  public IgniteCache<String, byte[]> blocks() {
    return open(blocks);
  }

  public String blocksName() {
    return blocks;
  }

  private IgniteCache<String, byte[]> open(String name) {
    if (!ignite.cluster().state().active()) {
      throw new TensorFlowIgniteException(
          ErrorCode.CLUSTER_NOT_ACTIVE,
          "The cluster is not active. Files can be used once it is. Activate it with: control.sh"
              + " --set-state ACTIVE");
    }
    IgniteCache<String, byte[]> cache = ignite.cache(name);
    if (cache == null) {
      throw destroyed(name);
    }
    return cache;
  }

  static TensorFlowIgniteException destroyed(String cache) {
    return new TensorFlowIgniteException(
        ErrorCode.CACHE_NOT_FOUND,
        String.format(
            "The cache '%s' is gone: somebody has destroyed it, and the files in it. The service"
                + " makes it when a node starts. Restart a node to begin with an empty store.",
            cache));
  }

  private CacheConfiguration<String, byte[]> configuration(String name) {
    return new CacheConfiguration<String, byte[]>(name)
        .setGroupName(SystemCache.PREFIX + name)
        .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
        .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
        .setDataRegionName(settings.dataRegion());
  }
}
