package io.tensorflowignite.storage;

import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.storage.tree.FileTree;
import io.tensorflowignite.storage.tree.TaskFence;
import io.tensorflowignite.storage.tree.Writes;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.ignite.Ignite;

/** The store of files, on a node: its parts, put together. */
public final class Storage {
  private final StorageCaches caches;
  private final Pendings pendings;
  private final FileTree tree;
  private final Writes writes;

  /**
   * Makes the store's caches when they are missing.
   *
   * @param blocks a block by its extent and number; null: there is none.
   * @param garbage is told of what changes have made garbage.
   */
  public Storage(
      Ignite ignite,
      StorageSettings settings,
      BiFunction<String, Integer, byte[]> blocks,
      Consumer<String> garbage) {
    caches = new StorageCaches(ignite, settings);
    caches.create();
    Changes changes = new Changes(ignite, caches, garbage);
    TaskFence fence = new TaskFence(ignite);
    pendings = new Pendings(changes);
    tree = new FileTree(changes, fence);
    writes = new Writes(settings, changes, fence, blocks);
  }

  public StorageCaches caches() {
    return caches;
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
}
