package io.tensorflowignite.agent;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.Await;
import io.tensorflowignite.PlainNodes;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.table.LogReader;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.LogChunk;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskKey;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;

/** What is left of a job's output in a node's memory, and what its readers get. */
public class ItOutputStore {
  private static final int CHUNK = 64 << 10;
  private static final int MIB = 1 << 20;

  @ClassRule public static final PlainNodes NODES = new PlainNodes(1).megabytes(128);

  private static Ignite node;
  private static LogTable logs;

  private final String job = UUID.randomUUID().toString();

  @BeforeClass
  public static void openTable() {
    node = NODES.node(0);
    logs = new LogTable(node);
  }

  private TaskKey task(int attempt, int index) {
    return TaskKey.newBuilder()
        .setJobId(job)
        .setAttempt(attempt)
        .setRole(Role.ROLE_WORKER)
        .setIndex(index)
        .build();
  }

  /** A chunk whose bytes are its number. */
  private static LogChunk chunk(int number) {
    byte[] data = new byte[CHUNK];
    Arrays.fill(data, (byte) number);
    return LogChunk.newBuilder().setSequence(number).setData(ByteString.copyFrom(data)).build();
  }

  /** Data and gaps: their sum is the output that the task has written. */
  private static final class Found {
    long bytes;
    long dropped;
    int last = -1;
  }

  private Found read(TaskKey task) {
    Found found = new Found();
    LogReader reader = new LogReader(logs, task);
    for (List<LogChunk> next = reader.next(); !next.isEmpty(); next = reader.next()) {
      for (LogChunk chunk : next) {
        found.bytes += chunk.getData().size();
        found.dropped += chunk.getDroppedBytes();
        if (!chunk.getData().isEmpty()) {
          assertTrue(chunk.getData().byteAt(0) > found.last);
          found.last = chunk.getData().byteAt(0);
        }
      }
    }
    assertEquals(found.bytes + found.dropped, reader.position());
    return found;
  }

  private static int chunks() {
    return node.cache(SystemCache.LOGS.cacheName()).size();
  }

  @Test
  public void theOldestOutputOfAJobIsRemovedOverAllAttemptsAndProcesses() {
    // The attempt has two nodes: this one may store half of the limit.
    OutputStore output = new OutputStore(logs, node.log(), 4 * MIB, task -> 2, task -> {});
    for (int attempt = 1; attempt <= 3; attempt++) {
      for (int number = 0; number < 16; number++) {
        output.add(task(attempt, 0), chunk(number));
        output.add(task(attempt, 1), chunk(number));
      }
    }

    assertEquals(0, read(task(1, 0)).bytes + read(task(2, 1)).bytes);
    for (int index = 0; index < 2; index++) {
      Found found = read(task(3, index));
      assertEquals(15, found.last);
      assertEquals(16 * CHUNK, found.bytes + found.dropped);
      assertTrue("" + found.bytes, found.bytes >= 13 * CHUNK);
    }
    for (int attempt = 1; attempt <= 3; attempt++) {
      logs.remove(task(attempt, 0));
      logs.remove(task(attempt, 1));
    }
    assertEquals(0, chunks());
  }

  @Test
  public void aChunkThatIsSentAgainIsStoredOnce() {
    OutputStore output = new OutputStore(logs, node.log(), 4 * MIB, task -> 1, task -> {});
    output.add(task(1, 0), chunk(0));
    output.add(task(1, 0), chunk(1));
    output.add(task(1, 0), chunk(0));
    output.add(task(1, 0), chunk(2));

    assertEquals(3 * CHUNK, read(task(1, 0)).bytes);
    logs.remove(task(1, 0));
  }

  @Test
  public void outputWithoutMemoryIsAGapAndGoesOnWhenThereIsMemory() {
    IgniteCache<String, byte[]> other = node.getOrCreateCache("other");
    IgniteCache<String, byte[]> probe = node.getOrCreateCache("probe");
    OutputStore output = new OutputStore(logs, node.log(), 64 * MIB, task -> 1, task -> {});
    output.add(task(1, 0), chunk(0));
    for (int key = 0; hasRoom(probe); key++) {
      // As another program would.
      other.put("key " + key, new byte[MIB / 4]);
    }
    output.add(task(1, 0), chunk(1));
    output.add(task(1, 0), chunk(2));
    output.add(task(1, 1), chunk(0));
    assertEquals(CHUNK, read(task(1, 0)).bytes);
    output.end(task(1, 1));
    assertEquals(CHUNK, read(task(1, 1)).dropped);

    destroy(other, probe);
    output.add(task(1, 0), chunk(3));
    Found found = read(task(1, 0));
    assertEquals(2 * CHUNK, found.bytes);
    assertEquals(2 * CHUNK, found.dropped);
    assertEquals(3, found.last);
    logs.remove(task(1, 0));
    logs.remove(task(1, 1));
  }

  @Test
  public void newOutputTakesThePlaceOfTheOldestWhereThereIsNoMemory() {
    IgniteCache<String, byte[]> other = node.getOrCreateCache("rest");
    OutputStore output = new OutputStore(logs, node.log(), 64 * MIB, task -> 1, task -> {});
    for (int number = 0; number < 32; number++) {
      output.add(task(1, 0), chunk(number));
    }
    IgniteCache<String, byte[]> probe = node.getOrCreateCache("probe");
    for (int key = 0; hasRoom(probe); key++) {
      other.put("key " + key, new byte[MIB / 4]);
    }
    for (int number = 0; number < 8; number++) {
      output.add(task(2, 0), chunk(number));
    }

    Found newest = read(task(2, 0));
    assertEquals(8 * CHUNK, newest.bytes);
    assertEquals(7, newest.last);
    Found oldest = read(task(1, 0));
    assertEquals(31, oldest.last);
    assertTrue("" + oldest.dropped, oldest.dropped >= 7 * CHUNK && oldest.dropped < 16 * CHUNK);
    destroy(other, probe);
    logs.remove(task(1, 0));
    logs.remove(task(2, 0));
  }

  /** A refusal holds for a moment without another measurement: in the next test, too. */
  private static void destroy(IgniteCache<?, ?> cache, IgniteCache<String, byte[]> probe) {
    cache.destroy();
    Await.until("there is memory", () -> hasRoom(probe));
  }

  private static boolean hasRoom(IgniteCache<String, byte[]> cache) {
    try {
      MemoryReserve.of(node).put(Purpose.DATA, cache, "key", new byte[CHUNK], "a value");
      return true;
    } catch (TensorFlowIgniteException full) {
      return false;
    }
  }

  @Test
  public void theLostEndOfAnOutputIsAGapOfItsSize() {
    TaskKey task = task(1, 0);
    for (int number = 0; number < 2; number++) {
      long position = (long) number * CHUNK;
      logs.put(task, chunk(number).toBuilder().setPosition(position).build(), Purpose.DATA);
    }
    LogReader reader = new LogReader(logs, task);
    assertEquals(2, reader.next().size());
    assertEquals(0, reader.next().size());
    assertEquals(Optional.empty(), reader.missingEnd(0));
    assertEquals(Optional.empty(), reader.missingEnd(2L * CHUNK));
    LogChunk gap = reader.missingEnd(3L * CHUNK).get();
    assertEquals(CHUNK, gap.getDroppedBytes());
    assertEquals(Optional.empty(), reader.missingEnd(3L * CHUNK));
    reader.takeBackEnd(gap);
    assertEquals(0, reader.next().size());
    assertEquals(gap, reader.missingEnd(3L * CHUNK).get());
    logs.remove(task);
  }
}
