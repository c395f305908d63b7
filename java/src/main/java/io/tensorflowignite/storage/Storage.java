package io.tensorflowignite.storage;

import io.tensorflowignite.base.Loops;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.storage.block.SharedMemoryRegistry;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.storage.pending.Sweeper;
import io.tensorflowignite.storage.tree.FileTree;
import io.tensorflowignite.storage.tree.FileWriters;
import io.tensorflowignite.storage.tree.TaskFence;
import io.tensorflowignite.v1.PendingExtent;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.ignite.Ignite;

/** The file store of a node, put together from its parts. */
public final class Storage implements AutoCloseable {
  private final StorageCaches caches;
  private final Blocks blocks;
  private final SharedMemoryRegistry memories = new SharedMemoryRegistry();
  private final PendingTable pendings;
  private final FileTree tree;
  private final FileWriters writes;
  private final Sweeper sweeper;

  /** Creates the store's caches where they are missing. */
  public Storage(Ignite ignite, StorageSettings settings) {
    caches = new StorageCaches(ignite, settings);
    caches.create();
    MetadataTransactions transactions = new MetadataTransactions(ignite, caches, this::sweep);
    TaskFence fence = new TaskFence(ignite);
    blocks = new Blocks(ignite, caches);
    pendings = new PendingTable(transactions);
    tree = new FileTree(transactions, fence);
    writes = new FileWriters(settings, transactions, fence, this::block);
    sweeper =
        new Sweeper(
            ignite.log(),
            pendings,
            blocks,
            id -> tree.freeDirectory(id, (extent, count) -> blocks.remove(extent, 0, count)),
            settings.writerTimeout,
            Loops.of(ignite));
  }

  private void sweep(String garbage) {
    sweeper.sweep(garbage);
  }

  private byte[] block(String extent, int number) {
    Block block = blocks.get(extent, number);
    return block == null ? null : block.data().toByteArray();
  }

  /** Whether an extent belongs to a file or a writer, so that its blocks must exist. */
  public boolean isNeeded(String extent) {
    PendingExtent pending = pendings.get(extent);
    return (pending != null && pending.hasWrite()) || tree.usesExtent(extent);
  }

  /** Whether an extent is being written or removed at this moment. */
  public Predicate<String> pendingExtents() {
    Map<String, PendingExtent> all = pendings.all();
    // The extents in a removed directory become known only while the directory is freed.
    boolean freeing =
        all.values().stream()
            .map(PendingExtent::getDirectoryId)
            .anyMatch(id -> !id.isEmpty() && tree.hasDirectory(id));
    return extent -> freeing || all.containsKey(extent);
  }

  public StorageCaches caches() {
    return caches;
  }

  public Blocks blocks() {
    return blocks;
  }

  /** The memory that processes of this host share. */
  public SharedMemoryRegistry memories() {
    return memories;
  }

  public PendingTable pendingTable() {
    return pendings;
  }

  public FileTree tree() {
    return tree;
  }

  public FileWriters writers() {
    return writes;
  }

  public Sweeper sweeper() {
    return sweeper;
  }

  @Override
  public void close() {
    memories.close();
    sweeper.close();
  }
}
