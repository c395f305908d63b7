package io.tensorflowignite.job;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.RemoveFileRequest;
import java.util.ArrayList;
import java.util.List;

/** The cluster's files as jobs need them: see {@link JobFiles} for where they are. */
public final class JobStore {
  private final Storage storage;

  public JobStore(Storage storage) {
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

  /** What is in a directory; nothing, when there is none. */
  List<FileInfo> list(String path) {
    List<FileInfo> found = new ArrayList<>();
    try {
      storage.tree().list(path, found::addAll);
    } catch (TensorFlowIgniteException e) {
      isMissing(e, true);
    }
    return found;
  }

  /** Removes what is there, a directory with all that is in it. */
  void remove(String path) {
    try {
      storage
          .tree()
          .remove(RemoveFileRequest.newBuilder().setPath(path).setRecursive(true).build());
    } catch (TensorFlowIgniteException e) {
      isMissing(e, true);
    }
  }

  /**
   * Where the bytes of a file go, which is there when this is closed, in missing directories too.
   */
  StorageOutput write(String path) {
    return new StorageOutput(storage, path);
  }

  public StorageInput read(String path) {
    return new StorageInput(storage, path);
  }

  private static boolean isMissing(TensorFlowIgniteException e, boolean result) {
    if (e.code() != ErrorCode.FILE_NOT_FOUND) {
      throw e;
    }
    return result;
  }
}
