package io.tensorflowignite.storage;

import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.storage.block.LentMemories;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.storage.pending.Sweeper;
import io.tensorflowignite.storage.tree.FileTree;
import io.tensorflowignite.storage.tree.TaskFence;
import io.tensorflowignite.storage.tree.Writes;
import io.tensorflowignite.v1.PendingExtent;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.ignite.Ignite;

/** The store of files, on a node: its parts, put together. */
public final class Storage implements AutoCloseable {
  private final StorageCaches caches;
  private final Blocks blocks;
  private final LentMemories memories = new LentMemories();
  private final Pendings pendings;
  private final FileTree tree;
  private final Writes writes;
  private final Sweeper sweeper;

  /** Makes the store's caches when they are missing. */
  public Storage(Ignite ignite, StorageSettings settings) {
    caches = new StorageCaches(ignite, settings);
    caches.create();
    Changes changes = new Changes(ignite, caches, this::sweep);
    TaskFence fence = new TaskFence(ignite);
    blocks = new Blocks(ignite, caches);
    pendings = new Pendings(changes);
    tree = new FileTree(changes, fence);
    writes = new Writes(settings, changes, fence, this::block);
    sweeper =
        new Sweeper(
            ignite.log(),
            pendings,
            blocks,
            id -> tree.drain(id, (extent, count) -> blocks.remove(extent, 0, count)),
            settings.writerTimeout());
  }

  private void sweep(String garbage) {
    sweeper.sweep(garbage);
  }

  private byte[] block(String extent, int number) {
    Block block = blocks.get(extent, number);
    return block == null ? null : block.data().toByteArray();
  }

  /** Whether blocks of an extent must be there: it is of a file, or of a writer. */
  public boolean needs(String extent) {
    PendingExtent pending = pendings.get(extent);
    return (pending != null && pending.hasWrite()) || tree.has(extent);
  }

  /** Which extents are being written or removed now. */
  public Predicate<String> pending() {
    Map<String, PendingExtent> all = pendings.all();
    // What was in a removed directory is known one by one only as it is worked off.
    boolean draining =
        all.values().stream()
            .map(PendingExtent::getDirectoryId)
            .anyMatch(id -> !id.isEmpty() && tree.isKept(id));
    return extent -> draining || all.containsKey(extent);
  }

  public StorageCaches caches() {
    return caches;
  }

  public Blocks blocks() {
    return blocks;
  }

  /** What processes of this host share. */
  public LentMemories memories() {
    return memories;
  }

  public Pendings pendings() {
    return pendings;
  }

  public FileTree tree() {
    return tree;
  }

  public Writes writes() {
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
