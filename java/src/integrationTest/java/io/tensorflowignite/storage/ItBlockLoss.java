package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Extent;
import java.time.Duration;
import java.util.Random;
import org.apache.ignite.Ignite;
import org.junit.Test;

/** What becomes of files when a node leaves. */
public class ItBlockLoss {
  private static final int BLOCKS = 30;

  private final byte[] data = new byte[BLOCKS * StorageNodes.BLOCK_BYTES - 5];

  @Test
  public void withOneBackupAFileOutlivesANode() throws Exception {
    try (StorageNodes cluster = start(3, 1)) {
      write(cluster.store(2));
      stop(cluster, 1);
      for (int node : new int[] {0, 2}) {
        assertArrayEquals(data, read(cluster.store(node)));
      }
    }
  }

  @Test
  public void withoutBackupALostBlockIsToldByItsNumber() throws Exception {
    try (StorageNodes cluster = start(2, 0)) {
      write(cluster.store(0));
      Storage left = cluster.store(0);
      Ignite leaving = cluster.nodes.get(1);
      Extent extent = left.tree().get("/dir/file").getExtents(0);
      int lost = 0;
      while (!leaving
          .affinity("store-blocks")
          .isPrimary(leaving.cluster().localNode(), extent.getId() + "/" + lost)) {
        lost++;
      }
      stop(cluster, 1);
      until("a block is lost", () -> cluster.blocks() < BLOCKS);

      TensorFlowIgniteException told =
          assertThrows(TensorFlowIgniteException.class, () -> read(left));
      assertEquals(ErrorCode.FILE_CORRUPT, told.code());
      String text = told.getMessage();
      assertTrue(
          text, text.contains("Block " + lost + " of extent " + extent.getId() + " is lost"));
      assertTrue(text, text.contains("storageBackups"));

      write(left);
      assertArrayEquals(data, read(left));
    }
  }

  private StorageNodes start(int nodes, int backups) throws Exception {
    new Random(1).nextBytes(data);
    return new StorageNodes(
        nodes,
        new StorageSettings(
            "store", backups, null, StorageNodes.BLOCK_BYTES, Duration.ofSeconds(120)));
  }

  private static void stop(StorageNodes cluster, int index) {
    cluster.store(index).close();
    cluster.nodes.get(index).close();
  }

  private void write(Storage store) {
    try (StorageOutput file = new StorageOutput(store, "/dir/file")) {
      file.write(data, 0, data.length);
    }
  }

  private static byte[] read(Storage store) throws Exception {
    try (StorageInput file = new StorageInput(store, "/dir/file")) {
      return file.readAllBytes();
    }
  }
}
