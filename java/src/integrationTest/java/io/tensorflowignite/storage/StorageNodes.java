package io.tensorflowignite.storage;

import io.tensorflowignite.Await;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.PendingExtent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CachePeekMode;

/** Real Ignite nodes in this JVM, each with a store. */
final class StorageNodes implements AutoCloseable {
  static final int BLOCK_BYTES = 4 << 10;

  private static final int PORTS = 10;

  final List<Ignite> nodes = new ArrayList<>();
  final List<Storage> stores = new ArrayList<>();
  private final String name = "storage-" + UUID.randomUUID();
  private final Path work = Files.createTempDirectory("storage-nodes");
  private final LoopbackNodes cluster = new LoopbackNodes(PORTS);
  private final StorageSettings settings;

  StorageNodes(int size, StorageSettings settings) throws IOException {
    this.settings = settings;
    for (int i = 0; i < size; i++) {
      add();
    }
    // The first node owns all partitions until Ignite has moved some to the other nodes.
    nodes.forEach(node -> Await.until("each node owns blocks", () -> ownsBlocks(node)));
  }

  /** Starts one more node; its store. */
  Storage add() {
    Ignite node = Ignition.start(cluster.configuration(name + "-" + nodes.size(), work));
    nodes.add(node);
    stores.add(new Storage(node, settings));
    return stores.get(stores.size() - 1);
  }

  private boolean ownsBlocks(Ignite node) {
    String blocks = store(0).caches().blocksName();
    return nodes.stream()
        .allMatch(
            other ->
                other.affinity(blocks).primaryPartitions(node.cluster().localNode()).length > 0);
  }

  static StorageSettings settings(String name) {
    return new StorageSettings(name, 1, null, BLOCK_BYTES, Duration.ofSeconds(120));
  }

  Storage store(int node) {
    return stores.get(node);
  }

  /** The number of blocks of all extents. */
  int blocks() {
    StorageCaches caches = store(0).caches();
    return caches.blocks().size(CachePeekMode.PRIMARY)
        + caches.smallFiles().size(CachePeekMode.PRIMARY);
  }

  /** Removes all garbage, with its records. */
  void sweep() {
    PendingTable pendings = store(0).pendingTable();
    Blocks blocks = store(0).blocks();
    boolean found;
    do {
      found = false;
      for (Map.Entry<String, PendingExtent> pending : pendings.all().entrySet()) {
        PendingExtent garbage = pending.getValue();
        if (!garbage.hasWrite()) {
          found = true;
          if (!garbage.getDirectoryId().isEmpty()) {
            store(0)
                .tree()
                .freeDirectory(
                    garbage.getDirectoryId(), (extent, count) -> blocks.remove(extent, 0, count));
          }
          blocks.remove(pending.getKey(), garbage.getFirst(), garbage.getBlocks());
          pendings.removeGarbage(pending.getKey(), garbage);
        }
      }
    } while (found);
  }

  @Override
  public void close() throws IOException {
    stores.forEach(Storage::close);
    Collections.reverse(nodes);
    nodes.forEach(Ignite::close);
    try (Stream<Path> files = Files.walk(work)) {
      for (Path file : (Iterable<Path>) files.sorted(Collections.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }
}
