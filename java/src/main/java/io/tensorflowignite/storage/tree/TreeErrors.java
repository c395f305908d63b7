package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DIRECTORY_NOT_EMPTY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_EXISTS;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_IS_A_DIRECTORY;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NOT_A_DIRECTORY;

import io.tensorflowignite.base.TensorFlowIgniteException;

/** The errors of the tree. */
final class TreeErrors {
  private TreeErrors() {}

  static TensorFlowIgniteException notFound(String path) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_NOT_FOUND,
        "'%s' does not exist. The path must lead to a file or directory. List its directory to see"
            + " the names there.",
        path);
  }

  static TensorFlowIgniteException noParent(String path, String missing) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_NOT_FOUND,
        "'%s' does not exist, nor does the directory '%s' above it. A new file or directory needs a"
            + " parent directory. Create the directory first, or choose another path.",
        path,
        missing);
  }

  static TensorFlowIgniteException pathIsBlocked(String path, String file) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_NOT_A_DIRECTORY,
        "'%s' leads through '%s', which is a file. Only directories have entries. Choose another"
            + " path.",
        path,
        file);
  }

  static TensorFlowIgniteException notADirectory(String path) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_NOT_A_DIRECTORY,
        "'%s' is a file. The call requires a directory. Choose another path.",
        path);
  }

  static TensorFlowIgniteException isADirectory(String path) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_IS_A_DIRECTORY,
        "'%s' is a directory. The call requires a file. Choose another path.",
        path);
  }

  static TensorFlowIgniteException exists(String path) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_EXISTS,
        "'%s' exists. The call does not allow to replace it. Choose another path, remove it, or"
            + " allow the call to replace it.",
        path);
  }

  static TensorFlowIgniteException notEmpty(String path) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_DIRECTORY_NOT_EMPTY,
        "The directory '%s' is not empty. Only an empty directory can be removed or replaced."
            + " Remove its entries, or remove it recursively.",
        path);
  }

  static TensorFlowIgniteException changed(String path, String reason) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_CHANGED,
        "'%s' was not published: %s. A writer can publish only while no other caller replaces,"
            + " removes or extends its file. Write the file again.",
        path,
        reason);
  }
}
