package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import io.tensorflowignite.AtExit;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import io.tensorflowignite.v1.WriteMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.After;
import org.junit.BeforeClass;
import org.junit.function.ThrowingRunnable;

/** Three nodes, which all classes of a JVM share; calls go to the nodes in turn. */
public abstract class StorageTest {
  static StorageNodes cluster;
  static FileServers servers;

  private int calls;

  @BeforeClass
  public static void startNodes() throws Exception {
    if (cluster == null) {
      cluster = new StorageNodes(3, StorageNodes.settings("store"));
      servers = new FileServers(cluster);
      AtExit.close(
          () -> {
            servers.close();
            cluster.close();
          });
    }
  }

  /**
   * Also proves that all records are consistent, and that removed files leave no records or blocks.
   */
  @After
  public void removeAllAndProveThatNothingIsLeft() {
    cluster.sweep();
    new TreeCheck(cluster.store(1)).assertConsistent();
    for (String name : names("/")) {
      removeAll("/" + name);
    }
    abandonWriters();
    cluster.sweep();
    new TreeCheck(cluster.store(2)).assertEmpty();
    assertEquals(0, cluster.blocks());
  }

  final Storage store() {
    return cluster.store(calls++ % 3);
  }

  final List<String> names(String directory) {
    List<String> names = new ArrayList<>();
    store()
        .tree()
        .list(
            directory,
            files -> {
              assertTrue(files.size() <= 1_000);
              files.forEach(file -> names.add(file.getPath()));
            });
    return names;
  }

  final void makeDirectory(String path) {
    store().tree().makeDirectory(making(path).build());
  }

  final void remove(String path) {
    store().tree().remove(removal(path).build());
  }

  final void removeAll(String directory) {
    store().tree().remove(removal(directory).setRecursive(true).build());
  }

  final void abandonWriters() {
    for (String writer : store().pendingTable().all().keySet()) {
      store().writers().abandon(writer);
    }
  }

  static RemoveFileRequest.Builder removal(String path) {
    return RemoveFileRequest.newBuilder().setPath(path);
  }

  final void rename(String source, String target) {
    store().tree().rename(renaming(source, target).setOverwrite(true).build());
  }

  static RenameFileRequest.Builder renaming(String source, String target) {
    return RenameFileRequest.newBuilder().setSource(source).setTarget(target);
  }

  static MakeDirectoryRequest.Builder making(String path) {
    return MakeDirectoryRequest.newBuilder().setPath(path);
  }

  final void makeDirectories(String path) {
    store().tree().makeDirectory(making(path).setParents(true).setExistOk(true).build());
  }

  static BeginWriteRequest.Builder beginning(String path) {
    return BeginWriteRequest.newBuilder().setPath(path).setMode(WRITE_MODE_REPLACE);
  }

  final FileInfo write(String path, String text) {
    return write(path, text, WRITE_MODE_REPLACE);
  }

  final FileInfo write(String path, String text, WriteMode mode) {
    BeginWriteResponse writer = begin(path, mode);
    return publish(writer, text, true);
  }

  final BeginWriteResponse begin(String path, WriteMode mode) {
    return store().writers().begin(beginning(path).setMode(mode).build());
  }

  /** Writes the text behind the extent's head, and publishes the extent. */
  final FileInfo publish(BeginWriteResponse writer, String text, boolean done) {
    byte[] data = (writer.getHead().toStringUtf8() + text).getBytes(StandardCharsets.UTF_8);
    int blocks = (data.length + writer.getBlockBytes() - 1) / writer.getBlockBytes();
    store().writers().reserve(writer.getExtentId(), blocks);
    for (int number = 0; number < blocks; number++) {
      int from = number * writer.getBlockBytes();
      int bytes = Math.min(data.length - from, writer.getBlockBytes());
      store().blocks().put(writer.getExtentId(), number, Block.of(data, from, bytes));
    }
    return store().writers().publish(publication(writer, data.length).setDone(done).build());
  }

  static PublishWriteRequest.Builder publication(BeginWriteResponse writer, long bytes) {
    return PublishWriteRequest.newBuilder().setExtentId(writer.getExtentId()).setBytes(bytes);
  }

  final String read(String path) {
    FileInfo file = store().tree().get(path);
    StringBuilder text = new StringBuilder();
    for (Extent extent : file.getExtentsList()) {
      long left = extent.getBytes();
      for (int number = 0; left > 0; number++) {
        ByteString block = store().blocks().get(extent.getId(), number).data();
        int bytes = (int) Math.min(left, extent.getBlockBytes());
        text.append(block.substring(0, bytes).toStringUtf8());
        left -= bytes;
      }
    }
    assertEquals(file.getBytes(), text.length());
    return text.toString();
  }

  static TensorFlowIgniteException assertFails(ErrorCode code, ThrowingRunnable call) {
    TensorFlowIgniteException error = assertThrows(TensorFlowIgniteException.class, call);
    assertEquals(error.getMessage(), code, error.code());
    return error;
  }

  static String letters(int count) {
    return "x".repeat(count);
  }
}
