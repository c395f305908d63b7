package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.pending.Sweeper;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.WriteMode;
import java.time.Duration;
import org.junit.Test;

/** Memory of what is of no file is freed, whoever made it and whatever became of them. */
public class ItSweeper extends StorageTest {
  private static final Duration SHORT = Duration.ofMillis(400);
  private static final Duration LONG = Duration.ofSeconds(120);

  @Test
  public void whatADeadWriterLeftIsRemoved() {
    BeginWriteResponse dead = begin("/dead", WriteMode.REPLACE);
    BeginWriteResponse alive = begin("/alive", WriteMode.REPLACE);
    for (BeginWriteResponse writer : new BeginWriteResponse[] {dead, alive}) {
      store().writes().reserve(writer.getExtentId(), 64);
      put(writer, 3);
    }
    assertEquals(6, cluster.blocks());
    try (Sweeper sweeper = sweeper(SHORT, LONG)) {
      until(
          "blocks of a dead writer",
          () -> {
            store().writes().reserve(alive.getExtentId(), 64);
            sweeper.sweepOverdue();
            return cluster.blocks() == 3;
          });
    }
    assertTrue(store().pendings().get(alive.getExtentId()).hasWrite());
    assertFalse(store().pendings().get(dead.getExtentId()).hasWrite());
    assertFails(ErrorCode.FILE_CHANGED, () -> publish(dead, "late", true));
    publish(alive, letters(3 * StorageNodes.BLOCK_BYTES), true);
  }

  @Test
  public void whatADeadWriterHasPublishedStays() {
    BeginWriteResponse writer = begin("/log", WriteMode.REPLACE);
    publish(writer, letters(StorageNodes.BLOCK_BYTES), false);
    store().writes().reserve(writer.getExtentId(), 64);
    store().blocks().put(writer.getExtentId(), 1, Block.of(new byte[] {1}, 0, 1));
    try (Sweeper sweeper = sweeper(SHORT, SHORT)) {
      until(
          "what was not published",
          () -> {
            sweeper.sweepOverdue();
            return store().pendings().get(writer.getExtentId()) == null;
          });
    }
    assertEquals(1, cluster.blocks());
    assertEquals(letters(StorageNodes.BLOCK_BYTES), read("/log"));
  }

  @Test
  public void garbageOfANodeThatDiedIsRemovedByAnother() {
    Storage dying = cluster.store(2);
    makeDirectory("/d");
    makeDirectory("/d/e");
    write("/d/e/file", letters(5 * StorageNodes.BLOCK_BYTES));
    write("/file", letters(5 * StorageNodes.BLOCK_BYTES));
    // It commits, and does nothing any more.
    dying.sweeper().close();
    dying.tree().remove(removal("/d").setRecursive(true).build());
    dying.tree().remove(removal("/file").build());
    assertEquals(10, cluster.blocks());
    assertEquals(2, cluster.store(0).pendings().all().size());
    try (Sweeper sweeper = sweeper(LONG, SHORT)) {
      until(
          "garbage of another node",
          () -> {
            sweeper.sweepOverdue();
            return cluster.store(0).pendings().all().isEmpty();
          });
    }
    assertEquals(0, cluster.blocks());
  }

  @Test
  public void aBlockThatWasUnderWayWhenItsWriterEndedIsRemovedAMinuteLater() {
    BeginWriteResponse writer = begin("/late", WriteMode.REPLACE);
    String extent = writer.getExtentId();
    store().writes().reserve(extent, 64);
    put(writer, 2);
    cluster.store(0).writes().abandon(extent);
    until("blocks of an abandoned writer", () -> cluster.blocks() == 0);
    assertNotNull(store().pendings().get(extent));
    put(writer, 1);
    try (Sweeper sweeper = sweeper(LONG, SHORT)) {
      until(
          "a late block",
          () -> {
            sweeper.sweepOverdue();
            return store().pendings().get(extent) == null;
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
        store.pendings(),
        store.blocks(),
        id -> store.tree().drain(id, (extent, count) -> store.blocks().remove(extent, 0, count)),
        writerTimeout,
        garbageTimeout);
  }
}
