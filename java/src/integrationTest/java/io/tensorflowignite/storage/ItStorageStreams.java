package io.tensorflowignite.storage;

import static io.tensorflowignite.Await.until;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_IS_A_DIRECTORY;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_APPEND;
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Random;
import org.junit.Test;

/** Files written and read from within a node. */
public class ItStorageStreams extends StorageTest {
  private static final int BLOCK = StorageNodes.BLOCK_BYTES;

  private final Random random = new Random(3);

  @Test
  public void bytesAreReadAsWrittenInPiecesOfAnySize() throws Exception {
    int number = 0;
    for (int size : new int[] {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 20 * BLOCK + 7}) {
      byte[] data = bytes(size);
      String path = "/new/" + number++;
      try (StorageOutput out = new StorageOutput(store(), path)) {
        for (int from = 0; from < size; ) {
          int count = Math.min(size - from, 1 + random.nextInt(3 * BLOCK));
          out.write(data, from, count);
          from += count;
        }
      }
      assertEquals(size, store().tree().get(path).getBytes());
      assertArrayEquals(data, read(path, 1 + random.nextInt(3 * BLOCK)));
    }
  }

  @Test
  public void publishedBytesAreVisibleBeforeTheEnd() throws Exception {
    byte[] data = bytes(3 * BLOCK);
    try (StorageOutput out = new StorageOutput(store(), "/log")) {
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get("/log"));
      int from = 0;
      for (int count : new int[] {10, 0, BLOCK, BLOCK + 100, 7}) {
        out.write(data, from, count);
        from += count;
        out.publish();
        assertArrayEquals(Arrays.copyOf(data, from), read("/log", 1_000));
      }
      StorageInput before = new StorageInput(store(), "/log");
      out.write(data, from, data.length - from);
      out.publish();
      assertArrayEquals(Arrays.copyOf(data, from), before.readAllBytes());
    }
    assertArrayEquals(data, read("/log", 5_000));
    assertEquals(1, store().tree().get("/log").getExtentsCount());
    assertEquals(0, store().pendingTable().all().size());
  }

  @Test
  public void appendedBytesFollowTheOldOnes() throws Exception {
    byte[] data = bytes(4 * BLOCK + 11);
    int from = 0;
    for (int count : new int[] {100, 50, BLOCK, 2 * BLOCK, BLOCK - 150 + 11}) {
      try (StorageOutput out = new StorageOutput(store(), "/grown", WRITE_MODE_APPEND)) {
        out.write(data, from, count);
      }
      from += count;
      assertArrayEquals(Arrays.copyOf(data, from), read("/grown", 3_000));
    }
    for (int skipped : new int[] {0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 5, from, from + 1}) {
      try (StorageInput in = new StorageInput(store(), "/grown")) {
        int first = in.read();
        assertEquals(data[0], (byte) first);
        int start = Math.min(from, 1 + skipped);
        assertEquals(start - 1, in.skip(skipped));
        assertArrayEquals(Arrays.copyOfRange(data, start, from), in.readAllBytes());
      }
    }
  }

  @Test
  public void anAbandonedWriterLeavesTheOldFile() throws Exception {
    byte[] data = bytes(3 * BLOCK);
    try (StorageOutput out = new StorageOutput(store(), "/file")) {
      out.write(data);
    }
    StorageOutput abandoned = new StorageOutput(store(), "/file");
    abandoned.write(new byte[5 * BLOCK]);
    abandoned.abandon();
    abandoned.close();
    assertThrows(IllegalStateException.class, () -> abandoned.write(1));
    assertArrayEquals(data, read("/file", 2_000));
    until("blocks of an abandoned writer", () -> cluster.blocks() == 3);
  }

  @Test
  public void aWriterThatFailedPublishesNothing() {
    StorageOutput out = new StorageOutput(store(), "/file");
    out.write(new byte[BLOCK]);
    abandonWriters();
    out.write(5);
    assertFails(ERROR_CODE_FILE_CHANGED, out::publish);
    out.close();
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get("/file"));
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> new StorageInput(store(), "/file"));
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> new StorageInput(store(), "/"));
  }

  private byte[] bytes(int count) {
    byte[] data = new byte[count];
    random.nextBytes(data);
    return data;
  }

  private byte[] read(String path, int piece) throws Exception {
    try (StorageInput in = new StorageInput(store(), path)) {
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      byte[] buffer = new byte[piece];
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        whole.write(buffer, 0, count);
      }
      return whole.toByteArray();
    }
  }
}
