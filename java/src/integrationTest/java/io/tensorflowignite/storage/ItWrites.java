package io.tensorflowignite.storage;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.WriteMode;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.Test;

public class ItWrites extends StorageTest {
  private static final int LONG = 3 * StorageNodes.BLOCK_BYTES + 5;

  @Test
  public void aFileAppearsWholeOrNotAtAll() {
    BeginWriteResponse writer = begin("/file", WriteMode.REPLACE);
    assertEquals(StorageNodes.BLOCK_BYTES, writer.getBlockBytes());
    assertEquals(120, writer.getWriterTimeout(), 0);
    assertTrue(writer.getExtentId(), writer.getExtentId().matches("[0-9a-f]{32}"));
    store().writes().reserve(writer.getExtentId(), 4);
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> store().tree().get("/file"));
    assertEquals(Collections.emptyList(), names("/"));
    FileInfo published = publish(writer, letters(LONG), true);
    for (int node = 0; node < 3; node++) {
      assertEquals(published, cluster.store(node).tree().get("/file"));
    }
    assertEquals(LONG, published.getBytes());
    assertEquals(letters(LONG), read("/file"));
    assertEquals(Collections.emptyMap(), store().pendings().all());
  }

  @Test
  public void replacingIsOneStepAndFreesWhatWasThere() {
    FileInfo old = write("/file", letters(LONG));
    BeginWriteResponse writer = begin("/file", WriteMode.REPLACE);
    assertEquals(old, store().tree().get("/file"));
    FileInfo replaced = publish(writer, "new", true);
    assertEquals("new", read("/file"));
    assertEquals(old.getGeneration() + 1, replaced.getGeneration());
    assertEquals(old.getCreatedAt(), replaced.getCreatedAt());
    PendingExtent garbage = store().pendings().get(old.getExtents(0).getId());
    assertEquals(4, garbage.getBlocks());
    cluster.sweep();
    assertEquals(1, cluster.blocks());
  }

  @Test
  public void ofTwoThatReplaceTheLastOneStays() {
    BeginWriteResponse first = begin("/file", WriteMode.REPLACE);
    BeginWriteResponse second = begin("/file", WriteMode.REPLACE);
    publish(second, "second", true);
    publish(first, "first", true);
    assertEquals("first", read("/file"));
  }

  @Test
  public void readersSeeTheOldOrTheNewFileWhileItIsReplaced() throws Exception {
    write("/file", "0");
    AtomicBoolean over = new AtomicBoolean();
    Race race =
        new Race()
            .with(
                () -> {
                  try {
                    for (int i = 1; i <= 40; i++) {
                      write("/file", Integer.toString(i));
                    }
                  } finally {
                    over.set(true);
                  }
                  return null;
                });
    for (int node = 1; node < 3; node++) {
      Storage store = cluster.store(node);
      race.with(
          () -> {
            long generation = 0;
            while (!over.get()) {
              FileInfo file = store.tree().get("/file");
              assertTrue(file.getGeneration() >= generation);
              assertEquals(1, file.getExtentsCount());
              generation = file.getGeneration();
            }
            return null;
          });
    }
    race.runWell();
    assertEquals("40", read("/file"));
  }

  @Test
  public void ofTwoCreatorsExactlyOneWins() throws Exception {
    for (int round = 0; round < 20; round++) {
      String path = "/file" + round;
      BeginWriteResponse[] writers = {begin(path, WriteMode.CREATE), begin(path, WriteMode.CREATE)};
      List<Throwable> thrown =
          new Race()
              .with(() -> published(0, writers[0]))
              .with(() -> published(1, writers[1]))
              .run();
      assertEquals(1, thrown.stream().filter(Objects::isNull).count());
      int loser = thrown.get(0) == null ? 1 : 0;
      assertFails(
          ErrorCode.FILE_EXISTS,
          () -> {
            throw thrown.get(loser);
          });
      assertEquals(
          writers[1 - loser].getExtentId(), store().tree().get(path).getExtents(0).getId());
      store().writes().abandon(writers[loser].getExtentId());
    }
    assertFails(ErrorCode.FILE_EXISTS, () -> begin("/file0", WriteMode.CREATE));
  }

  @Test
  public void aCreatorGoesOnWithItsOwnFile() {
    BeginWriteResponse writer = begin("/file", WriteMode.CREATE);
    publish(writer, "a", false);
    publish(writer, "ab", false);
    publish(writer, "abc", true);
    assertEquals("abc", read("/file"));
  }

  @Test
  public void appendingWritesTheEndOfAShortExtentAgain() {
    write("/file", "hello");
    BeginWriteResponse writer = begin("/file", WriteMode.APPEND);
    assertEquals(0, writer.getOffset());
    assertEquals("hello", writer.getHead().toStringUtf8());
    FileInfo file = publish(writer, " world", true);
    assertEquals("hello world", read("/file"));
    assertEquals(1, file.getExtentsCount());
    cluster.sweep();
    assertEquals(1, cluster.blocks());
  }

  @Test
  public void appendingLeavesLongExtentsAsTheyAre() {
    write("/file", letters(LONG));
    BeginWriteResponse writer = begin("/file", WriteMode.APPEND);
    assertEquals(LONG, writer.getOffset());
    assertTrue(writer.getHead().isEmpty());
    assertEquals(2, publish(writer, "end", true).getExtentsCount());
    assertEquals(letters(LONG) + "end", read("/file"));
    FileInfo third = write("/file", "!", WriteMode.APPEND);
    assertEquals(2, third.getExtentsCount());
    assertEquals(letters(LONG) + "end!", read("/file"));
  }

  @Test
  public void appendingBeginsAFileThatIsNotThere() {
    write("/file", "text", WriteMode.APPEND);
    assertEquals("text", read("/file"));
  }

  @Test
  public void ofTwoAppendersOneIsToldThatTheFileHasChanged() throws Exception {
    write("/file", letters(LONG));
    BeginWriteResponse[] writers = {
      begin("/file", WriteMode.APPEND), begin("/file", WriteMode.APPEND)
    };
    List<Throwable> thrown =
        new Race().with(() -> published(0, writers[0])).with(() -> published(1, writers[1])).run();
    assertEquals(1, thrown.stream().filter(Objects::isNull).count());
    int loser = thrown.get(0) == null ? 1 : 0;
    assertFails(
        ErrorCode.FILE_CHANGED,
        () -> {
          throw thrown.get(loser);
        });
    assertEquals(LONG + 5, store().tree().get("/file").getBytes());
  }

  @Test
  public void anAppenderKnowsAFileThatWasMadeAnew() {
    write("/file", "old");
    BeginWriteResponse writer = begin("/file", WriteMode.APPEND);
    remove("/file");
    FileInfo made = write("/file", "new");
    assertEquals(1, made.getGeneration());
    assertFails(ErrorCode.FILE_CHANGED, () -> publish(writer, "!", true));
    assertEquals("new", read("/file"));
  }

  @Test
  public void aFileWhoseEndIsLostIsNotAppendedTo() {
    FileInfo file = write("/file", "text");
    store().blocks().remove(file.getExtents(0).getId(), 0, 1);
    assertFails(ErrorCode.FILE_CORRUPT, () -> begin("/file", WriteMode.APPEND));
    assertEquals(Collections.emptyMap(), store().pendings().all());
  }

  @Test
  public void aFileMayBeEmpty() {
    write("/file", "");
    assertEquals("", read("/file"));
    write("/file", "text", WriteMode.APPEND);
    assertEquals("text", read("/file"));
    assertEquals(1, store().tree().get("/file").getExtentsCount());
    write("/file", "");
    assertEquals(0, store().tree().get("/file").getBytes());
  }

  @Test
  public void aFileGrowsWithEachPublication() {
    BeginWriteResponse writer = begin("/events", WriteMode.REPLACE);
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
  public void aWriterIsToldWhenItsFileIsNotItsOwnAnyMore() {
    List<Runnable> changes =
        Arrays.asList(
            () -> remove("/d/file"),
            () -> write("/d/file", "other"),
            () -> write("/d/file", "other", WriteMode.APPEND),
            () -> rename("/d/file", "/d/elsewhere"),
            () -> {
              write("/d/other", "other");
              rename("/d/other", "/d/file");
            });
    for (Runnable change : changes) {
      makeDirectory("/d");
      BeginWriteResponse writer = begin("/d/file", WriteMode.REPLACE);
      publish(writer, "mine", false);
      change.run();
      assertFails(ErrorCode.FILE_CHANGED, () -> publish(writer, "mine again", false));
      store().writes().abandon(writer.getExtentId());
      store().tree().remove(removal("/d").setRecursive(true).build());
    }
  }

  @Test
  public void aWriterWhoseDirectoryIsGoneFindsNone() {
    makeDirectory("/d");
    BeginWriteResponse writer = begin("/d/file", WriteMode.REPLACE);
    remove("/d");
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> publish(writer, "text", true));
  }

  @Test
  public void theLastPublicationMayBeRepeated() {
    BeginWriteResponse writer = begin("/file", WriteMode.CREATE);
    FileInfo file = publish(writer, "text", true);
    PublishWriteRequest.Builder again = publication(writer, 4).setDone(true);
    assertEquals(file, store().writes().publish(again.setPath("/file").build()));
    assertFails(ErrorCode.FILE_CHANGED, () -> store().writes().publish(again.clearPath().build()));
    write("/file", "text");
    assertFails(
        ErrorCode.FILE_CHANGED, () -> store().writes().publish(again.setPath("/file").build()));
  }

  @Test
  public void aDeadWriterIsToldSo() {
    BeginWriteResponse writer = begin("/file", WriteMode.REPLACE);
    String extent = writer.getExtentId();
    assertEquals(7, store().writes().reserve(extent, 7));
    assertEquals("never shrinks", 7, store().writes().reserve(extent, 0));
    PendingExtent seen = store().pendings().get(extent);
    store().writes().reserve(extent, 8);
    assertTrue("alive", !store().pendings().condemn(extent, seen));
    assertTrue(store().pendings().condemn(extent, store().pendings().get(extent)));
    assertEquals(8, store().pendings().get(extent).getBlocks());
    assertFails(ErrorCode.FILE_CHANGED, () -> store().writes().reserve(extent, 9));
    assertFails(ErrorCode.FILE_CHANGED, () -> publish(writer, "text", true));
    assertFails(ErrorCode.FILE_NOT_FOUND, () -> store().tree().get("/file"));
    store().writes().abandon(extent);
    store().writes().abandon("none");
  }

  @Test
  public void whatADeadWriterHadPublishedStays() {
    BeginWriteResponse writer = begin("/file", WriteMode.REPLACE);
    String extent = writer.getExtentId();
    publish(writer, letters(LONG), false);
    store().writes().reserve(extent, 64);
    store().blocks().put(extent, 60, Block.of(ByteString.EMPTY));
    store().writes().abandon(extent);
    PendingExtent garbage = store().pendings().get(extent);
    assertEquals(4, garbage.getFirst());
    assertEquals(64, garbage.getBlocks());
    cluster.sweep();
    assertEquals(letters(LONG), read("/file"));
    assertEquals(4, cluster.blocks());
    assertNull(store().pendings().get(extent));
  }

  @Test
  public void onlyWhatIsReservedIsPublishedAndNothingIsTakenBack() {
    BeginWriteResponse writer = begin("/file", WriteMode.REPLACE);
    assertFails(ErrorCode.INVALID_REQUEST, () -> published(0, writer, 1));
    store().writes().reserve(writer.getExtentId(), 1);
    published(0, writer, 4_096);
    assertFails(ErrorCode.INVALID_REQUEST, () -> published(0, writer, 4_095));
    assertFails(ErrorCode.INVALID_REQUEST, () -> published(0, writer, 4_097));
    assertFails(ErrorCode.INVALID_REQUEST, () -> published(0, writer, -1));
  }

  @Test
  public void aWriterBeginsWithAModeBlocksOfASizeAndAFile() {
    assertFails(ErrorCode.INVALID_REQUEST, () -> begin("/file", WriteMode.WRITE_MODE_UNSPECIFIED));
    for (int bytes : new int[] {-1, 1, 4_095, (4 << 20) + 1}) {
      assertFails(
          ErrorCode.INVALID_REQUEST,
          () -> store().writes().begin(beginning("/file").setBlockBytes(bytes).build()));
    }
    assertFails(ErrorCode.IS_A_DIRECTORY, () -> begin("/", WriteMode.REPLACE));
    assertFails(ErrorCode.IS_A_DIRECTORY, () -> begin("/", WriteMode.APPEND));
    assertFails(ErrorCode.FILE_EXISTS, () -> begin("/", WriteMode.CREATE));
    BeginWriteResponse writer =
        store().writes().begin(beginning("/a/b/file").setParents(true).build());
    publish(writer, "text", true);
    assertEquals("text", read("/a/b/file"));
  }

  @Test
  public void onlyTheJobsPresentTasksChangeFiles() {
    JobTable jobs = new JobTable(cluster.nodes.get(0));
    jobs.insert(job(2, 1));
    TaskKey present = task(2, 1).build();
    store().tree().makeDirectory(making("/jobs").setTask(present).build());
    BeginWriteResponse writer =
        store().writes().begin(beginning("/jobs/file").setTask(present).build());
    store().writes().reserve(writer.getExtentId(), 1);
    List<TaskKey> others =
        Arrays.asList(
            task(1, 1).build(),
            task(3, 1).build(),
            task(2, 0).build(),
            task(2, 1).setIndex(1).build(),
            task(2, 1).setRole(Role.PS).build(),
            task(2, 1).setJobId("none").build());
    for (TaskKey other : others) {
      TensorFlowIgniteException error =
          assertFails(
              ErrorCode.ATTEMPT_SUPERSEDED,
              () -> store().tree().makeDirectory(making("/no").setTask(other).build()));
      assertTrue(error.getMessage(), error.getMessage().contains(other.getJobId()));
      assertFails(
          ErrorCode.ATTEMPT_SUPERSEDED,
          () -> store().tree().remove(removal("/jobs").setTask(other).build()));
      assertFails(
          ErrorCode.ATTEMPT_SUPERSEDED,
          () ->
              store()
                  .tree()
                  .rename(
                      RenameFileRequest.newBuilder()
                          .setSource("/jobs")
                          .setTarget("/no")
                          .setTask(other)
                          .build()));
      assertFails(
          ErrorCode.ATTEMPT_SUPERSEDED,
          () -> store().writes().begin(beginning("/jobs/no").setTask(other).build()));
      assertFails(
          ErrorCode.ATTEMPT_SUPERSEDED,
          () -> store().writes().publish(publication(writer, 1).setTask(other).build()));
    }
    store().writes().publish(publication(writer, 1).setTask(present).build());
    jobs.update("job", job -> job(3, 0));
    assertFails(
        ErrorCode.ATTEMPT_SUPERSEDED,
        () ->
            store()
                .writes()
                .publish(publication(writer, 2).setDone(true).setTask(present).build()));
    assertEquals(1, store().tree().get("/jobs/file").getBytes());
    assertNotEquals(null, store().pendings().get(writer.getExtentId()));
  }

  private static Job job(int attempt, int incarnation) {
    Job.Builder job = Job.newBuilder().setId("job");
    for (int number = 1; number <= attempt; number++) {
      job.addAttempts(
          Attempt.newBuilder()
              .setNumber(number)
              .addTasks(Task.newBuilder().setRole(Role.WORKER).setIncarnation(incarnation)));
    }
    return job.build();
  }

  private static TaskKey.Builder task(int attempt, int incarnation) {
    return TaskKey.newBuilder()
        .setJobId("job")
        .setAttempt(attempt)
        .setRole(Role.WORKER)
        .setIncarnation(incarnation);
  }

  private static MakeDirectoryRequest.Builder making(String path) {
    return MakeDirectoryRequest.newBuilder().setPath(path);
  }

  private static BeginWriteRequest.Builder beginning(String path) {
    return BeginWriteRequest.newBuilder().setPath(path).setMode(WriteMode.REPLACE);
  }

  private static FileInfo published(int node, BeginWriteResponse writer) {
    cluster.store(node).writes().reserve(writer.getExtentId(), 1);
    cluster
        .store(node)
        .blocks()
        .put(writer.getExtentId(), 0, Block.of(ByteString.copyFromUtf8("12345")));
    return published(node, writer, 5);
  }

  private static FileInfo published(int node, BeginWriteResponse writer, long bytes) {
    return cluster.store(node).writes().publish(publication(writer, bytes).build());
  }
}
