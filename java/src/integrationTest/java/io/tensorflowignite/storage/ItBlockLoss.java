package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_LOST;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;

/**
 * Files when a node leaves.
 *
 * <p>Promise (files): A lost directory is an error, and not empty.
 *
 * <p>Promise (files): A small file is on every node.
 */
public class ItBlockLoss {
  private static final int BLOCKS = 30;
  private static final int FILES = 30;

  private final byte[] data = new byte[BLOCKS * StorageNodes.BLOCK_BYTES - 5];

  @Test
  public void withoutBackupALostBlockIsReportedByItsNumber() throws Exception {
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

      String text = StorageTest.assertFails(ERROR_CODE_FILE_LOST, () -> read(left)).getMessage();
      assertTrue(
          text, text.contains("Block " + lost + " of extent " + extent.getId() + " is lost"));
      assertTrue(text, text.contains("storage.backups"));

      write(left);
      assertArrayEquals(data, read(left));
    }
  }

  @Test
  public void smallFilesOutliveAllNodesButOne() throws Exception {
    try (StorageNodes cluster = start(3, 0)) {
      for (int i = 0; i < FILES; i++) {
        writeText(cluster.store(i % 3), i);
      }
      stop(cluster, 1);
      stop(cluster, 2);
      Storage left = cluster.store(0);
      for (int i = 0; i < FILES; i++) {
        assertEquals("file " + i, new String(read(left, "/dir/" + i)));
      }
      // The size leaves out partitions whose primary is still being changed.
      until("all blocks are counted", () -> cluster.blocks() == FILES);
    }
  }

  @Test
  public void aSmallFileThatGrowsMovesToTheOtherBlocks() throws Exception {
    StorageSettings settings =
        new StorageSettings("store", 1, null, 32 << 10, Duration.ofSeconds(120));
    try (StorageNodes cluster = new StorageNodes(2, settings)) {
      IgniteCache<String, byte[]> small = cluster.store(0).caches().smallFiles();
      byte[] all = new byte[40 << 10];
      new Random(2).nextBytes(all);
      // 100 bytes and 16 KiB are small, one byte more is not, a full block is not.
      int[] ends = {100, 16 << 10, (16 << 10) + 1, 32 << 10, 40 << 10};
      try (StorageOutput file = new StorageOutput(cluster.store(0), "/grows")) {
        int from = 0;
        for (int end : ends) {
          file.write(all, from, end - from);
          file.publish();
          for (Storage store : cluster.stores) {
            assertArrayEquals(Arrays.copyOf(all, end), read(store, "/grows"));
          }
          assertEquals(end <= 16 << 10 ? 1 : 0, small.size(CachePeekMode.PRIMARY));
          assertEquals(end > 32 << 10 ? 2 : 1, cluster.blocks());
          from = end;
        }
      }
      cluster.store(1).tree().remove(StorageTest.removal("/grows").build());
      try (StorageOutput file = new StorageOutput(cluster.store(1), "/small")) {
        file.write(all, 0, 100);
      }
      cluster.store(1).tree().remove(StorageTest.removal("/small").build());
      cluster.sweep();
      assertEquals(0, cluster.blocks());
    }
  }

  @Test
  @SuppressWarnings("deprecation")
  public void aLostDirectoryIsAnErrorUntilTheLossIsAccepted() throws Exception {
    try (StorageNodes cluster = start(1, 0)) {
      Ignite first = cluster.nodes.get(0);
      // As when a node leaves before the next one has received the directories.
      IgniteCache<String, byte[]> files = cluster.store(0).caches().files();
      @SuppressWarnings("unchecked")
      CacheConfiguration<String, byte[]> kept = files.getConfiguration(CacheConfiguration.class);
      files.destroy();
      first.createCache(
          new CacheConfiguration<String, byte[]>("store-files")
              .setGroupName(kept.getGroupName())
              .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
              .setCacheMode(CacheMode.REPLICATED)
              .setPartitionLossPolicy(kept.getPartitionLossPolicy())
              .setRebalanceDelay(-1));
      cluster.store(0).caches().create();
      write(cluster.store(0));
      Storage left = cluster.add();
      stop(cluster, 0);

      TensorFlowIgniteException error =
          StorageTest.assertFails(ERROR_CODE_DATA_LOST, () -> left.tree().list("/dir", page -> {}));
      assertTrue(
          error.getMessage(),
          error.getMessage().contains("accept-data-loss tensorflow-ignite-files"));
      StorageTest.assertFails(ERROR_CODE_DATA_LOST, () -> read(left));
      StorageTest.assertFails(ERROR_CODE_DATA_LOST, () -> write(left));
      CacheLosses losses = new CacheLosses(cluster.nodes.get(1));
      assertEquals("store-files", losses.list().get(0).getCache());

      losses.accept("store-files", "");
      assertTrue(losses.list().isEmpty());
      List<FileInfo> found = new ArrayList<>();
      left.tree().list("/", found::addAll);
      assertEquals(List.of(), found);
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

  private static void writeText(Storage store, int number) {
    try (StorageOutput file = new StorageOutput(store, "/dir/" + number)) {
      file.write(("file " + number).getBytes());
    }
  }

  private static byte[] read(Storage store) throws Exception {
    return read(store, "/dir/file");
  }

  private static byte[] read(Storage store, String path) throws Exception {
    try (StorageInput file = new StorageInput(store, path)) {
      return file.readAllBytes();
    }
  }
}
