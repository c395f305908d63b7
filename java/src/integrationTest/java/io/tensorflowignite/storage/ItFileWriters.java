package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ATTEMPT_SUPERSEDED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_EXISTS;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_IS_A_DIRECTORY;
import static io.tensorflowignite.v1.Role.ROLE_PS;
import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_APPEND;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.WriteMode;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;

/**
 * Promise (files): A file appears whole or not at all.
 *
 * <p>Promise (files): Only the current tasks of a job change files in its name.
 */
public class ItFileWriters extends StorageTest {
  private static final int LONG = 3 * StorageNodes.BLOCK_BYTES + 5;

  @Test
  public void aFileAppearsWholeOrNotAtAll() {
    BeginWriteResponse writer = begin("/file", WRITE_MODE_REPLACE);
    assertEquals(StorageNodes.BLOCK_BYTES, writer.getBlockBytes());
    assertEquals(Durations.fromSeconds(120), writer.getWriterTimeout());
    assertTrue(writer.getExtentId(), writer.getExtentId().matches("[0-9a-f]{32}"));
    store().writers().reserve(writer.getExtentId(), 4);
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get("/file"));
    assertEquals(Collections.emptyList(), names("/"));
    FileInfo published = publish(writer, letters(LONG), true);
    for (int node = 0; node < 3; node++) {
      assertEquals(published, cluster.store(node).tree().get("/file"));
    }
    assertEquals(LONG, published.getBytes());
    assertEquals(letters(LONG), read("/file"));
    assertEquals(Collections.emptyMap(), store().pendingTable().all());
  }

  @Test
  public void replacingIsOneStepAndFreesTheOldFile() {
    FileInfo old = write("/file", letters(LONG));
    BeginWriteResponse writer = begin("/file", WRITE_MODE_REPLACE);
    assertEquals(old, store().tree().get("/file"));
    FileInfo replaced = publish(writer, "new", true);
    assertEquals("new", read("/file"));
    assertEquals(old.getGeneration() + 1, replaced.getGeneration());
    assertEquals(old.getCreatedAt(), replaced.getCreatedAt());
    PendingExtent garbage = store().pendingTable().get(old.getExtents(0).getId());
    assertEquals(4, garbage.getBlocks());
    cluster.sweep();
    assertEquals(1, cluster.blocks());
  }

  @Test
  public void ofTwoThatReplaceTheLastOneStays() {
    BeginWriteResponse first = begin("/file", WRITE_MODE_REPLACE);
    BeginWriteResponse second = begin("/file", WRITE_MODE_REPLACE);
    publish(second, "second", true);
    publish(first, "first", true);
    assertEquals("first", read("/file"));
  }

  @Test
  public void ofTwoCreatorsExactlyOneWins() throws Exception {
    for (int round = 0; round < 20; round++) {
      String path = "/file" + round;
      BeginWriteResponse[] writers = {
        begin(path, WRITE_MODE_CREATE), begin(path, WRITE_MODE_CREATE)
      };
      int loser = bothPublish(writers).runToOneLoser(ERROR_CODE_FILE_EXISTS);
      assertEquals(
          writers[1 - loser].getExtentId(), store().tree().get(path).getExtents(0).getId());
      store().writers().abandon(writers[loser].getExtentId());
    }
    assertFails(ERROR_CODE_FILE_EXISTS, () -> begin("/file0", WRITE_MODE_CREATE));
  }

  @Test
  public void appendingWritesTheEndOfAShortExtentAgainAndLeavesLongOnesAsTheyAre() {
    write("/file", "hello", WRITE_MODE_APPEND);
    BeginWriteResponse writer = begin("/file", WRITE_MODE_APPEND);
    assertEquals(0, writer.getOffset());
    assertEquals("hello", writer.getHead().toStringUtf8());
    FileInfo file = publish(writer, " world", true);
    assertEquals("hello world", read("/file"));
    assertEquals(1, file.getExtentsCount());
    cluster.sweep();
    assertEquals(1, cluster.blocks());

    write("/file", letters(LONG));
    writer = begin("/file", WRITE_MODE_APPEND);
    assertEquals(LONG, writer.getOffset());
    assertTrue(writer.getHead().isEmpty());
    assertEquals(2, publish(writer, "end", true).getExtentsCount());
    assertEquals(letters(LONG) + "end", read("/file"));
    FileInfo third = write("/file", "!", WRITE_MODE_APPEND);
    assertEquals(2, third.getExtentsCount());
    assertEquals(letters(LONG) + "end!", read("/file"));
  }

  @Test
  public void ofTwoAppendersOneGetsFileChanged() throws Exception {
    write("/file", letters(LONG));
    BeginWriteResponse[] writers = {
      begin("/file", WRITE_MODE_APPEND), begin("/file", WRITE_MODE_APPEND)
    };
    bothPublish(writers).runToOneLoser(ERROR_CODE_FILE_CHANGED);
    assertEquals(LONG + 5, store().tree().get("/file").getBytes());
  }

  @Test
  public void anAppenderNoticesThatTheFileWasReplaced() {
    write("/file", "old");
    BeginWriteResponse writer = begin("/file", WRITE_MODE_APPEND);
    remove("/file");
    FileInfo made = write("/file", "new");
    assertEquals(1, made.getGeneration());
    assertFails(ERROR_CODE_FILE_CHANGED, () -> publish(writer, "!", true));
    assertEquals("new", read("/file"));
  }

  @Test
  public void aFileWhoseEndIsLostIsNotAppendedTo() {
    FileInfo file = write("/file", "text");
    store().blocks().remove(file.getExtents(0).getId(), 0, 1);
    assertFails(ERROR_CODE_FILE_LOST, () -> begin("/file", WRITE_MODE_APPEND));
    assertEquals(Collections.emptyMap(), store().pendingTable().all());
  }

  @Test
  public void aFileMayBeEmpty() {
    write("/file", "");
    assertEquals("", read("/file"));
    write("/file", "text", WRITE_MODE_APPEND);
    assertEquals("text", read("/file"));
    assertEquals(1, store().tree().get("/file").getExtentsCount());
    write("/file", "");
    assertEquals(0, store().tree().get("/file").getBytes());
  }

  @Test
  public void aFileGrowsWithEachPublication() {
    BeginWriteResponse writer = begin("/events", WRITE_MODE_CREATE);
    for (int i = 1; i <= 5; i++) {
      FileInfo file = publish(writer, letters(i * 1_000), false);
      assertEquals(i * 1_000, file.getBytes());
      assertEquals(i, file.getGeneration());
    }
    FileInfo last = publish(writer, letters(5_000), true);
    assertEquals("nothing new", 5, last.getGeneration());
    assertEquals(letters(5_000), read("/events"));
  }

  @Test
  public void aWriterFailsWhenAnotherCallerHasChangedItsFileOrDirectory() {
    List<Runnable> changes =
        Arrays.asList(
            () -> remove("/d/file"),
            () -> write("/d/file", "other"),
            () -> write("/d/file", "other", WRITE_MODE_APPEND),
            () -> rename("/d/file", "/d/elsewhere"),
            () -> {
              write("/d/other", "other");
              rename("/d/other", "/d/file");
            });
    for (Runnable change : changes) {
      makeDirectory("/d");
      BeginWriteResponse writer = begin("/d/file", WRITE_MODE_REPLACE);
      publish(writer, "mine", false);
      change.run();
      assertFails(ERROR_CODE_FILE_CHANGED, () -> publish(writer, "mine again", false));
      store().writers().abandon(writer.getExtentId());
      removeAll("/d");
    }
    makeDirectory("/d");
    BeginWriteResponse writer = begin("/d/file", WRITE_MODE_REPLACE);
    remove("/d");
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> publish(writer, "text", true));
  }

  @Test
  public void theLastPublicationMayBeRepeated() {
    BeginWriteResponse writer = begin("/file", WRITE_MODE_CREATE);
    FileInfo file = publish(writer, "text", true);
    PublishWriteRequest.Builder again = publication(writer, 4).setDone(true);
    assertEquals(file, store().writers().publish(again.setPath("/file").build()));
    assertFails(
        ERROR_CODE_FILE_CHANGED, () -> store().writers().publish(again.clearPath().build()));
    write("/file", "text");
    assertFails(
        ERROR_CODE_FILE_CHANGED, () -> store().writers().publish(again.setPath("/file").build()));
  }

  @Test
  public void callsOfAnAbandonedWriterFail() {
    BeginWriteResponse writer = begin("/file", WRITE_MODE_REPLACE);
    String extent = writer.getExtentId();
    assertEquals(7, store().writers().reserve(extent, 7));
    assertEquals("never shrinks", 7, store().writers().reserve(extent, 0));
    PendingExtent observed = store().pendingTable().get(extent);
    store().writers().reserve(extent, 8);
    assertTrue("alive", !store().pendingTable().markGarbage(extent, observed));
    assertTrue(store().pendingTable().markGarbage(extent, store().pendingTable().get(extent)));
    assertEquals(8, store().pendingTable().get(extent).getBlocks());
    assertFails(ERROR_CODE_FILE_CHANGED, () -> store().writers().reserve(extent, 9));
    assertFails(ERROR_CODE_FILE_CHANGED, () -> publish(writer, "text", true));
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get("/file"));
    store().writers().abandon(extent);
    store().writers().abandon("none");
  }

  @Test
  public void publishedBytesOfAnAbandonedWriterStay() {
    BeginWriteResponse writer = begin("/file", WRITE_MODE_REPLACE);
    String extent = writer.getExtentId();
    publish(writer, letters(LONG), false);
    store().writers().reserve(extent, 64);
    store().blocks().put(extent, 60, Block.of(ByteString.EMPTY));
    store().writers().abandon(extent);
    PendingExtent garbage = store().pendingTable().get(extent);
    assertEquals(4, garbage.getFirst());
    assertEquals(64, garbage.getBlocks());
    cluster.sweep();
    assertEquals(letters(LONG), read("/file"));
    assertEquals(4, cluster.blocks());
    assertNull(store().pendingTable().get(extent));
  }

  @Test
  public void onlyReservedBytesArePublishedAndPublishedBytesStay() {
    BeginWriteResponse writer = begin("/file", WRITE_MODE_REPLACE);
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> published(0, writer, 1));
    store().writers().reserve(writer.getExtentId(), 1);
    published(0, writer, 4_096);
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> published(0, writer, 4_095));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> published(0, writer, 4_097));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> published(0, writer, -1));
  }

  @Test
  public void aWriterBeginsWithAModeBlocksOfASizeAndAFile() {
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> begin("/file", WriteMode.WRITE_MODE_UNSPECIFIED));
    for (int bytes : new int[] {-1, 1, 4_095, (4 << 20) + 1}) {
      assertFails(
          ERROR_CODE_INVALID_REQUEST,
          () -> store().writers().begin(beginning("/file").setBlockBytes(bytes).build()));
    }
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> begin("/", WRITE_MODE_REPLACE));
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> begin("/", WRITE_MODE_APPEND));
    assertFails(ERROR_CODE_FILE_EXISTS, () -> begin("/", WRITE_MODE_CREATE));
    BeginWriteResponse writer =
        store().writers().begin(beginning("/a/b/file").setParents(true).build());
    publish(writer, "text", true);
    assertEquals("text", read("/a/b/file"));
  }

  @Test
  public void onlyTheJobsCurrentTasksChangeFiles() {
    JobTable jobs = new JobTable(cluster.nodes.get(0));
    jobs.insert(job(0, 0));
    jobs.update("job", job -> job(2, 1));
    TaskKey current = task(2, 1).build();
    store().tree().makeDirectory(making("/jobs").setTask(current).build());
    BeginWriteResponse writer =
        store().writers().begin(beginning("/jobs/file").setTask(current).build());
    store().writers().reserve(writer.getExtentId(), 1);
    List<TaskKey> others =
        Arrays.asList(
            task(1, 1).build(),
            task(3, 1).build(),
            task(2, 0).build(),
            task(2, 1).setIndex(1).build(),
            task(2, 1).setRole(ROLE_PS).build(),
            task(2, 1).setJobId("none").build());
    for (TaskKey other : others) {
      List<ThrowingRunnable> changes =
          Arrays.asList(
              () -> store().tree().makeDirectory(making("/no").setTask(other).build()),
              () -> store().tree().remove(removal("/jobs").setTask(other).build()),
              () -> store().tree().rename(renaming("/jobs", "/no").setTask(other).build()),
              () -> store().writers().begin(beginning("/jobs/no").setTask(other).build()),
              () -> store().writers().publish(publication(writer, 1).setTask(other).build()));
      for (ThrowingRunnable change : changes) {
        TensorFlowIgniteException error = assertFails(ERROR_CODE_ATTEMPT_SUPERSEDED, change);
        assertTrue(error.getMessage(), error.getMessage().contains(other.getJobId()));
      }
    }
    store().writers().publish(publication(writer, 1).setTask(current).build());
    jobs.update("job", job -> job(3, 0));
    assertFails(
        ERROR_CODE_ATTEMPT_SUPERSEDED,
        () ->
            store()
                .writers()
                .publish(publication(writer, 2).setDone(true).setTask(current).build()));
    assertEquals(1, store().tree().get("/jobs/file").getBytes());
    assertNotEquals(null, store().pendingTable().get(writer.getExtentId()));
  }

  private static Job job(int attempt, int incarnation) {
    Job.Builder job = Job.newBuilder().setId("job").setState(JobState.JOB_STATE_RUNNING);
    for (int number = 1; number <= attempt; number++) {
      job.addAttempts(
          Attempt.newBuilder()
              .setNumber(number)
              .addTasks(Task.newBuilder().setRole(ROLE_WORKER).setIncarnation(incarnation)));
    }
    return job.build();
  }

  private static TaskKey.Builder task(int attempt, int incarnation) {
    return TaskKey.newBuilder()
        .setJobId("job")
        .setAttempt(attempt)
        .setRole(ROLE_WORKER)
        .setIncarnation(incarnation);
  }

  private static Race bothPublish(BeginWriteResponse[] writers) {
    return new Race().with(() -> published(0, writers[0])).with(() -> published(1, writers[1]));
  }

  private static FileInfo published(int node, BeginWriteResponse writer) {
    cluster.store(node).writers().reserve(writer.getExtentId(), 1);
    cluster
        .store(node)
        .blocks()
        .put(writer.getExtentId(), 0, Block.of(ByteString.copyFromUtf8("12345")));
    return published(node, writer, 5);
  }

  private static FileInfo published(int node, BeginWriteResponse writer, long bytes) {
    return cluster.store(node).writers().publish(publication(writer, bytes).build());
  }
}
