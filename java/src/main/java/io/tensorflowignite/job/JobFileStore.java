package io.tensorflowignite.job;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_EXISTS;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import java.util.ArrayList;
import java.util.List;

/** The cluster's files for jobs; {@link JobPaths} has their paths. */
public final class JobFileStore {
  private final Storage storage;

  public JobFileStore(Storage storage) {
    this.storage = storage;
  }

  public boolean exists(String path) {
    try {
      storage.tree().get(path);
      return true;
    } catch (TensorFlowIgniteException e) {
      return isMissing(e, false);
    }
  }

  /** The entries of a directory; none if it does not exist. */
  List<FileInfo> list(String path) {
    List<FileInfo> found = new ArrayList<>();
    try {
      storage.tree().list(path, found::addAll);
    } catch (TensorFlowIgniteException e) {
      isMissing(e, true);
    }
    return found;
  }

  /** Removes a file, or a directory with its entries, if it exists. */
  void remove(String path) {
    try {
      storage
          .tree()
          .remove(RemoveFileRequest.newBuilder().setPath(path).setRecursive(true).build());
    } catch (TensorFlowIgniteException e) {
      isMissing(e, true);
    }
  }

  /** Moves a file or directory; false if there is one at the target. */
  boolean renameToNew(String source, String target) {
    try {
      storage
          .tree()
          .rename(RenameFileRequest.newBuilder().setSource(source).setTarget(target).build());
      return true;
    } catch (TensorFlowIgniteException e) {
      if (e.code() != ERROR_CODE_FILE_EXISTS) {
        throw e;
      }
      return false;
    }
  }

  /** Opens a file for writing; it exists when the stream is closed. Makes missing directories. */
  StorageOutput write(String path) {
    return new StorageOutput(storage, path);
  }

  public StorageInput read(String path) {
    return new StorageInput(storage, path);
  }

  private static boolean isMissing(TensorFlowIgniteException e, boolean result) {
    if (e.code() != ERROR_CODE_FILE_NOT_FOUND) {
      throw e;
    }
    return result;
  }
}
