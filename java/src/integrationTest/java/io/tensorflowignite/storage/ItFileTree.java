package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DIRECTORY_NOT_EMPTY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_EXISTS;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_IS_A_DIRECTORY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NOT_A_DIRECTORY;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_DIRECTORY;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_REGULAR;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.Full;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.GetUsageResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** Promise (files): Changes of files at the same time leave a consistent tree. */
public class ItFileTree extends StorageTest {
  private static final int CHANGES = 600;

  @Test
  public void theRootAlwaysExists() {
    FileInfo root = store().tree().get("/");
    assertEquals(FILE_KIND_DIRECTORY, root.getKind());
    assertEquals("/", root.getPath());
    assertTrue(Timestamps.toMillis(root.getCreatedAt()) > 0);
    assertEquals(Collections.emptyList(), names("/"));
    assertFails(ERROR_CODE_FILE_EXISTS, () -> makeDirectory("/"));
    store().tree().makeDirectory(making("/").setExistOk(true).build());
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> remove("/"));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> removeAll("/"));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> rename("/", "/a"));
  }

  @Test
  public void newFilesAndDirectoriesAreFoundOnEveryNode() {
    makeDirectory("/a dir");
    write("/a dir/100% ü 😀.txt", "text");
    for (int node = 0; node < 3; node++) {
      FileInfo directory = cluster.store(node).tree().get("/a dir");
      assertEquals(FILE_KIND_DIRECTORY, directory.getKind());
      assertEquals(directory.getCreatedAt(), directory.getModifiedAt());
      FileInfo file = cluster.store(node).tree().get("/a dir/100% ü 😀.txt");
      assertEquals(FILE_KIND_REGULAR, file.getKind());
      assertEquals("/a dir/100% ü 😀.txt", file.getPath());
      assertEquals(4, file.getBytes());
      assertEquals(1, file.getGeneration());
      assertEquals(1, file.getExtentsCount());
      assertEquals(Collections.singletonList("100% ü 😀.txt"), names("/a dir"));
    }
    List<FileInfo> itself = new ArrayList<>();
    store().tree().list("/a dir/100% ü 😀.txt", itself::addAll);
    assertEquals(1, itself.size());
    assertEquals("/a dir/100% ü 😀.txt", itself.get(0).getPath());
    assertEquals(4, itself.get(0).getBytes());
    assertEquals(0, itself.get(0).getExtentsCount());
    assertEquals(usage(1, 0, 4), store().tree().usage("/a dir/100% ü 😀.txt"));
    assertEquals(usage(1, 1, 4), store().tree().usage("/"));
  }

  @Test
  public void missingPathsAreNotFound() {
    write("/file", "text");
    for (String path : Arrays.asList("/none", "/none/none")) {
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get(path));
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> names(path));
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().usage(path));
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> remove(path));
      assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> rename(path, "/new"));
    }
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> store().tree().get("/file/x"));
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> names("/file/x"));
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> remove("/file/x"));
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> rename("/file", "/none/x"));
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> begin("/none/x", WRITE_MODE_REPLACE));
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> begin("/file/x", WRITE_MODE_REPLACE));
  }

  @Test
  public void aDirectoryIsMadeOnceUnlessItMayExist() {
    makeDirectory("/a");
    assertFails(ERROR_CODE_FILE_EXISTS, () -> makeDirectory("/a"));
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> makeDirectory("/b/c"));
    for (int i = 0; i < 2; i++) {
      makeDirectories("/b/c/d");
    }
    assertEquals(Arrays.asList("a", "b"), names("/"));
    assertEquals(Collections.singletonList("d"), names("/b/c"));
    write("/a/file", "text");
    assertFails(
        ERROR_CODE_FILE_EXISTS,
        () -> store().tree().makeDirectory(making("/a/file").setExistOk(true).build()));
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> makeDirectories("/a/file/x/y"));
    assertFails(ERROR_CODE_FILE_EXISTS, () -> begin("/a/file", WRITE_MODE_CREATE));
    assertEquals("a refused change writes nothing", Map.of(), store().pendingTable().all());
  }

  @Test
  public void listingsAreInTheOrderOfTheNamesBytes() {
    List<String> sorted = Arrays.asList("A", "a", "a b", "b", "ä", "\ue000", "\ufffd", "😀", "😁");
    for (String name : Arrays.asList("😁", "😀", "b", "\ue000", "ä", "a b", "A", "\ufffd", "a")) {
      makeDirectory("/" + name);
    }
    assertEquals(sorted, names("/"));
  }

  @Test
  public void removingChecksKindAndEmptiness() {
    makeDirectories("/a/b");
    write("/a/b/file", letters(10_000));
    assertFails(ERROR_CODE_DIRECTORY_NOT_EMPTY, () -> remove("/a"));
    assertFails(
        ERROR_CODE_IS_A_DIRECTORY,
        () -> store().tree().remove(removal("/a/b").setKind(FILE_KIND_REGULAR).build()));
    assertFails(
        ERROR_CODE_NOT_A_DIRECTORY,
        () -> store().tree().remove(removal("/a/b/file").setKind(FILE_KIND_DIRECTORY).build()));
    store().tree().remove(removal("/a/b/file").setKind(FILE_KIND_REGULAR).build());
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> remove("/a/b/file"));
    cluster.sweep();
    assertEquals(0, cluster.blocks());
    store().tree().remove(removal("/a/b").setKind(FILE_KIND_DIRECTORY).build());
    remove("/a");
    assertEquals(Collections.emptyList(), names("/"));
  }

  @Test
  public void aDeepTreeIsRemovedInOneStepAndFreedAfterwards() {
    StringBuilder path = new StringBuilder("/deep");
    makeDirectory("/deep");
    for (int depth = 0; depth < 20; depth++) {
      write(path + "/file", letters(5_000));
      makeDirectory(path + "/side");
      path.append("/d");
      makeDirectory(path.toString());
    }
    assertEquals(40, cluster.blocks());
    removeAll("/deep");
    assertFails(ERROR_CODE_FILE_NOT_FOUND, () -> store().tree().get("/deep/d/file"));
    cluster.sweep();
    assertEquals(0, cluster.blocks());
  }

  @Test
  public void aRenamedFileReplacesAFile() {
    makeDirectory("/a");
    write("/a/new", "new");
    write("/old", "old");
    assertFails(
        ERROR_CODE_FILE_EXISTS, () -> store().tree().rename(renaming("/a/new", "/old").build()));
    rename("/a/new", "/old");
    assertEquals("new", read("/old"));
    assertEquals(Collections.emptyList(), names("/a"));
    cluster.sweep();
    assertEquals(1, cluster.blocks());
    rename("/old", "/old");
    assertEquals("new", read("/old"));
    store().tree().rename(renaming("/old", "/a/other").build());
    assertEquals("new", read("/a/other"));
  }

  @Test
  public void renamingKeepsFilesAndDirectoriesApartAndMakesNoCycle() {
    makeDirectories("/a/full");
    makeDirectory("/empty");
    write("/file", "text");
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> rename("/file", "/a"));
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> rename("/file", "/empty"));
    assertFails(ERROR_CODE_IS_A_DIRECTORY, () -> rename("/file", "/"));
    assertFails(ERROR_CODE_NOT_A_DIRECTORY, () -> rename("/a", "/file"));
    assertFails(ERROR_CODE_DIRECTORY_NOT_EMPTY, () -> rename("/empty", "/a"));
    assertFails(ERROR_CODE_DIRECTORY_NOT_EMPTY, () -> rename("/a/full", "/a"));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> rename("/a", "/a/c"));
    assertFails(ERROR_CODE_INVALID_REQUEST, () -> rename("/a", "/a/full/c"));
    rename("/a", "/a");
    makeDirectory("/ab");
    rename("/a", "/ab/a");
    rename("/ab/a", "/empty");
    assertEquals(Arrays.asList("ab", "empty", "file"), names("/"));
    assertEquals(Collections.singletonList("full"), names("/empty"));
  }

  @Test
  public void oppositeRenamesMakeNoCycle() throws Exception {
    for (int round = 0; round < 30; round++) {
      makeDirectory("/a");
      makeDirectory("/b");
      new Race()
          .with(() -> cluster.store(0).tree().rename(renaming("/a", "/b/a").build()))
          .with(() -> cluster.store(1).tree().rename(renaming("/b", "/a/b").build()))
          .runToOneLoser(ERROR_CODE_FILE_NOT_FOUND);
      assertEquals(1, names("/").size());
      assertEquals(usage(0, 2, 0), store().tree().usage("/"));
      removeAll("/" + names("/").get(0));
    }
  }

  @Test
  public void aDirectoryRenameIsOneStepForReaders() throws Exception {
    makeDirectory("/dir0");
    for (int i = 0; i < 5; i++) {
      write("/dir0/file" + i, "text");
    }
    Race race = new Race();
    race.until(
        () -> {
          for (int i = 0; i < 50; i++) {
            rename("/dir" + i, "/dir" + (i + 1));
          }
        });
    for (int node = 1; node < 3; node++) {
      Storage store = cluster.store(node);
      int[] at = {0};
      race.repeat(() -> at[0] = follow(store, at[0]));
    }
    race.run();
    assertEquals(Collections.singletonList("dir50"), names("/"));
    assertEquals(5, names("/dir50").size());
  }

  /** Finds the directory, with all its files, at its last known number or at a later one. */
  private static int follow(Storage store, int at) {
    for (int next = at; ; next++) {
      int[] listed = {0};
      try {
        store.tree().list("/dir" + next, files -> listed[0] += files.size());
      } catch (TensorFlowIgniteException renamed) {
        assertEquals(ERROR_CODE_FILE_NOT_FOUND, renamed.code());
        assertTrue("no directory from number " + at + " on", next <= 50);
        continue;
      }
      assertEquals(5, listed[0]);
      return next;
    }
  }

  @Test
  public void manyWritersOfOneDirectoryGetThrough() throws Exception {
    makeDirectory("/shards");
    Race race = new Race();
    for (int writer = 0; writer < 8; writer++) {
      String shard = "/shards/shard-" + writer + "-";
      Storage store = cluster.store(writer % 3);
      race.with(
          () -> {
            for (int i = 0; i < 10; i++) {
              write(store, shard + i);
            }
          });
    }
    race.run();
    assertEquals(80, names("/shards").size());
  }

  @Test
  @Category(Full.class)
  public void concurrentCreatesAndRemovesLeaveAConsistentTree() throws Exception {
    Race race = new Race();
    for (int runner = 0; runner < 2; runner++) {
      int node = runner;
      race.with(
          () -> {
            for (int i = node; i < CHANGES; i++) {
              churn(cluster.store(node), i);
            }
          });
    }
    race.run();
  }

  /** Makes one change, which may fail, since another thread makes the same changes. */
  private static void churn(Storage store, int i) {
    String top = "/top" + i % 2;
    Runnable[] changes = {
      () -> store.tree().makeDirectory(making(top + "/x/y").setParents(true).build()),
      () ->
          store
              .tree()
              .rename(renaming(top + "/x", "/top" + (i + 1) % 2 + "/x").setOverwrite(true).build()),
      () -> store.tree().remove(removal(top + "/x").setRecursive(true).build()),
      () -> write(store, top + "/x/file"),
      () -> write(store, top + "/file"),
      () -> store.tree().remove(removal(top + "/x/y").build()),
      () -> store.tree().remove(removal(top + "/file").build()),
      () -> store.tree().remove(removal(top).setRecursive(i % 2 == 0).build()),
    };
    try {
      changes[i % changes.length].run();
    } catch (TensorFlowIgniteException refused) {
      assertTrue(
          refused.getMessage(),
          Arrays.asList(
                  ERROR_CODE_FILE_NOT_FOUND, ERROR_CODE_FILE_EXISTS, ERROR_CODE_DIRECTORY_NOT_EMPTY)
              .contains(refused.code()));
    }
  }

  private static void write(Storage store, String path) {
    BeginWriteResponse writer = store.writers().begin(beginning(path).build());
    store.writers().reserve(writer.getExtentId(), 1);
    store.blocks().put(writer.getExtentId(), 0, Block.of(writer.getExtentIdBytes()));
    try {
      store.writers().publish(publication(writer, 32).setDone(true).build());
    } catch (TensorFlowIgniteException refused) {
      store.writers().abandon(writer.getExtentId());
      throw refused;
    }
  }

  private static GetUsageResponse usage(int files, int directories, long bytes) {
    return GetUsageResponse.newBuilder()
        .setFiles(files)
        .setDirectories(directories)
        .setBytes(bytes)
        .build();
  }
}
