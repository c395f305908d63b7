package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.Loops;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.pending.Sweeper;
import io.tensorflowignite.v1.BeginWriteResponse;
import java.time.Duration;
import org.junit.Test;

/**
 * The memory of garbage is freed, also after the death of the writer or node that made it.
 *
 * <p>Promise (files): No block is forgotten, although its writer or node has died.
 */
public class ItSweeper extends StorageTest {
  private static final Duration SHORT = Duration.ofMillis(400);
  private static final Duration LONG = Duration.ofSeconds(120);

  @Test
  public void blocksOfAWriterThatTimedOutAreRemoved() {
    BeginWriteResponse dead = begin("/dead", WRITE_MODE_REPLACE);
    BeginWriteResponse alive = begin("/alive", WRITE_MODE_REPLACE);
    for (BeginWriteResponse writer : new BeginWriteResponse[] {dead, alive}) {
      store().writers().reserve(writer.getExtentId(), 64);
      put(writer, 3);
    }
    assertEquals(6, cluster.blocks());
    try (Sweeper sweeper = sweeper(SHORT, LONG)) {
      until(
          "blocks of a writer that timed out",
          () -> {
            store().writers().reserve(alive.getExtentId(), 64);
            sweeper.sweepOverdue();
            return cluster.blocks() == 3;
          });
    }
    assertTrue(store().pendingTable().get(alive.getExtentId()).hasWrite());
    assertFalse(store().pendingTable().get(dead.getExtentId()).hasWrite());
    assertFails(ERROR_CODE_FILE_CHANGED, () -> publish(dead, "late", true));
    publish(alive, letters(3 * StorageNodes.BLOCK_BYTES), true);
  }

  @Test
  public void publishedBytesOfAWriterThatTimedOutStay() {
    BeginWriteResponse writer = begin("/log", WRITE_MODE_REPLACE);
    publish(writer, letters(StorageNodes.BLOCK_BYTES), false);
    store().writers().reserve(writer.getExtentId(), 64);
    store().blocks().put(writer.getExtentId(), 1, Block.of(new byte[] {1}, 0, 1));
    try (Sweeper sweeper = sweeper(SHORT, SHORT)) {
      until(
          "blocks that were not published",
          () -> {
            sweeper.sweepOverdue();
            return store().pendingTable().get(writer.getExtentId()) == null;
          });
    }
    assertEquals(1, cluster.blocks());
    assertEquals(letters(StorageNodes.BLOCK_BYTES), read("/log"));
  }

  @Test
  public void garbageOfANodeThatDiedIsRemovedByAnother() {
    makeDirectories("/d/e");
    write("/d/e/file", letters(5 * StorageNodes.BLOCK_BYTES));
    write("/file", letters(5 * StorageNodes.BLOCK_BYTES));
    // As a node that commits changes, and removes no garbage.
    try (Storage dying = new Storage(cluster.nodes.get(2), StorageNodes.settings("store"))) {
      dying.sweeper().close();
      dying.tree().remove(removal("/d").setRecursive(true).build());
      dying.tree().remove(removal("/file").build());
    }
    assertEquals(10, cluster.blocks());
    assertEquals(2, cluster.store(0).pendingTable().all().size());
    try (Sweeper sweeper = sweeper(LONG, SHORT)) {
      until(
          "garbage of another node",
          () -> {
            sweeper.sweepOverdue();
            return cluster.store(0).pendingTable().all().isEmpty();
          });
    }
    assertEquals(0, cluster.blocks());
  }

  @Test
  public void aBlockThatWasUnderWayWhenItsWriterEndedIsRemovedAMinuteLater() {
    BeginWriteResponse writer = begin("/late", WRITE_MODE_REPLACE);
    String extent = writer.getExtentId();
    store().writers().reserve(extent, 64);
    put(writer, 2);
    cluster.store(0).writers().abandon(extent);
    until("blocks of an abandoned writer", () -> cluster.blocks() == 0);
    assertNotNull(store().pendingTable().get(extent));
    put(writer, 1);
    try (Sweeper sweeper = sweeper(LONG, SHORT)) {
      until(
          "a late block",
          () -> {
            sweeper.sweepOverdue();
            return store().pendingTable().get(extent) == null;
          });
    }
    assertEquals(0, cluster.blocks());
  }

  private void put(BeginWriteResponse writer, int blocks) {
    for (int number = 0; number < blocks; number++) {
      byte[] data = new byte[writer.getBlockBytes()];
      store().blocks().put(writer.getExtentId(), number, Block.of(data, 0, data.length));
    }
  }

  private static Sweeper sweeper(Duration writerTimeout, Duration garbageTimeout) {
    Storage store = cluster.store(0);
    return new Sweeper(
        cluster.nodes.get(0).log(),
        store.pendingTable(),
        store.blocks(),
        id ->
            store
                .tree()
                .freeDirectory(id, (extent, count) -> store.blocks().remove(extent, 0, count)),
        writerTimeout,
        garbageTimeout,
        Loops.of(cluster.nodes.get(0)));
  }
}
