package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.GetUsageResponse;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import java.util.List;
import java.util.function.Consumer;
import org.apache.ignite.Ignite;

/** The tree of directories and files. */
public final class FileTree {
  private final Changes changes;

  public FileTree(Ignite ignite, Changes changes) {
    this.changes = changes;
  }

  public FileInfo get(String path) {
    throw new UnsupportedOperationException();
  }

  public void list(String path, Consumer<List<FileInfo>> files) {
    throw new UnsupportedOperationException();
  }

  public void makeDirectory(MakeDirectoryRequest request) {
    throw new UnsupportedOperationException();
  }

  public void remove(RemoveFileRequest request) {
    throw new UnsupportedOperationException();
  }

  public void rename(RenameFileRequest request) {
    throw new UnsupportedOperationException();
  }

  public GetUsageResponse usage(String path) {
    throw new UnsupportedOperationException();
  }

  /** Turns the content of a removed directory into garbage, bucket by bucket. */
  public void drain(String directory) {
    throw new UnsupportedOperationException(changes.toString());
  }
}
