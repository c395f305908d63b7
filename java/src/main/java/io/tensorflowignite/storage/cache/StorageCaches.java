package io.tensorflowignite.storage.cache;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.OwnRegion;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.DirectoryState;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.PartitionLossPolicy;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;

/**
 * The store's three caches. Each use gets the cache by its name: a cache may be destroyed and
 * created again.
 *
 * <p>When all owners of a partition have left, reading records of directories fails until a user
 * accepts the loss: a directory with lost records must not appear as empty. Blocks do not need this
 * rule, since the record of a file lists its blocks, and new blocks can be written at once.
 */
public final class StorageCaches {
  private final Ignite ignite;
  private final StorageSettings settings;
  private final String files;
  private final String blocks;
  private final String smallFiles;

  public StorageCaches(Ignite ignite, StorageSettings settings) {
    this.ignite = ignite;
    this.settings = settings;
    this.files = settings.name + "-files";
    this.blocks = settings.name + "-blocks";
    this.smallFiles = settings.name + "-small";
  }

  /** Creates the caches and the root directory where they are missing. */
  public void create() {
    if (settings.dataRegion != null) {
      requireRegion(settings.dataRegion);
    }
    byte[] root =
        DirectoryState.newBuilder()
            .setCreatedAt(Timestamps.fromMillis(System.currentTimeMillis()))
            .build()
            .toByteArray();
    IgniteCache<String, byte[]> created =
        OwnRegion.getOrCreate(
            ignite,
            configuration(files)
                .setCacheMode(CacheMode.REPLICATED)
                .setPartitionLossPolicy(PartitionLossPolicy.READ_WRITE_SAFE));
    // Ignite may roll this back while nodes join or leave, or just after the activation.
    MetadataTransactions.repeat(
        "Creating the store's root directory",
        left -> created.putIfAbsent(MetadataRecords.stateKey(MetadataRecords.ROOT), root));
    OwnRegion.getOrCreate(
        ignite,
        configuration(blocks)
            .setCacheMode(CacheMode.PARTITIONED)
            .setBackups(settings.backups)
            // A block's array never changes, so Ignite need not copy it for readers.
            .setCopyOnRead(false));
    OwnRegion.getOrCreate(
        ignite, configuration(smallFiles).setCacheMode(CacheMode.REPLICATED).setCopyOnRead(false));
  }

  private void requireRegion(String region) {
    List<ClusterNode> without = OwnRegion.nodesWithout(ignite, region);
    if (!without.isEmpty()
        && !ignite.cacheNames().containsAll(List.of(files, blocks, smallFiles))) {
      throw invalidRequest(
          "The data region '%s' is not configured on node %s. TensorFlowService's property"
              + " storage.dataRegion names a region that every server node has. Configure the"
              + " region on that node, or remove the property.",
          region, without.get(0).consistentId());
    }
  }

  /** The metadata, on every node. */
  public IgniteCache<String, byte[]> files() {
    return open(files);
  }

  /** The blocks, spread over the nodes. */
  public IgniteCache<String, byte[]> blocks() {
    return open(blocks);
  }

  /** The blocks of small files, on every node. */
  public IgniteCache<String, byte[]> smallFiles() {
    return open(smallFiles);
  }

  String filesName() {
    return files;
  }

  public String blocksName() {
    return blocks;
  }

  /** Both caches with blocks. */
  public List<IgniteCache<String, byte[]>> allWithBlocks() {
    return List.of(blocks(), smallFiles());
  }

  private IgniteCache<String, byte[]> open(String name) {
    if (!ignite.cluster().state().active()) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_CLUSTER_NOT_ACTIVE,
          "The cluster is not active. Files can be used in an active cluster only. Activate it"
              + " with: control.sh --set-state ACTIVE");
    }
    IgniteCache<String, byte[]> cache = ignite.cache(name);
    if (cache == null) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_CACHE_NOT_FOUND,
          "The cache '%s' does not exist: a program has destroyed it, and with it the files."
              + " The service creates the cache when a node starts. Restart a node to create an"
              + " empty store.",
          name);
    }
    return cache;
  }

  private CacheConfiguration<String, byte[]> configuration(String name) {
    return new CacheConfiguration<String, byte[]>(name)
        .setGroupName(SystemCache.PREFIX + name)
        .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
        .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
        .setDataRegionName(settings.dataRegion);
  }
}
