package io.tensorflowignite.storage.tree;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;

/** What a caller of the tree is told. */
final class TreeErrors {
  private TreeErrors() {}

  static TensorFlowIgniteException notFound(String path) {
    return error(
        ErrorCode.FILE_NOT_FOUND,
        "There is nothing at '%s'. A path leads to a file or directory that exists. List its"
            + " directory to see what is there.",
        path);
  }

  static TensorFlowIgniteException noParent(String path, String missing) {
    return error(
        ErrorCode.FILE_NOT_FOUND,
        "There is nothing at '%s', nor is there a directory '%s' for it. What is new needs a"
            + " directory to be in. Make that first, or choose another path.",
        path,
        missing);
  }

  static TensorFlowIgniteException inTheWay(String path, String file) {
    return error(
        ErrorCode.NOT_A_DIRECTORY,
        "'%s' leads through '%s', which is a file. Only directories have something in them. Choose"
            + " another path.",
        path,
        file);
  }

  static TensorFlowIgniteException notADirectory(String path) {
    return error(
        ErrorCode.NOT_A_DIRECTORY,
        "'%s' is a file. A directory is asked for. Choose another path.",
        path);
  }

  static TensorFlowIgniteException isADirectory(String path) {
    return error(
        ErrorCode.IS_A_DIRECTORY,
        "'%s' is a directory. A file is asked for. Choose another path.",
        path);
  }

  static TensorFlowIgniteException exists(String path) {
    return error(
        ErrorCode.FILE_EXISTS,
        "'%s' exists. It is not to be replaced. Choose another path, remove it, or allow it to be"
            + " replaced.",
        path);
  }

  static TensorFlowIgniteException notEmpty(String path) {
    return error(
        ErrorCode.DIRECTORY_NOT_EMPTY,
        "The directory '%s' is not empty. Only an empty one is removed or replaced. Remove what is"
            + " in it, or remove it recursively.",
        path);
  }

  static TensorFlowIgniteException changed(String path, String why) {
    return error(
        ErrorCode.FILE_CHANGED,
        "What was written to '%s' is not published: %s. A writer goes on only while nobody else"
            + " replaces, removes or extends its file. Write it again.",
        path,
        why);
  }

  static TensorFlowIgniteException invalid(String format, Object... arguments) {
    return error(ErrorCode.INVALID_REQUEST, format, arguments);
  }

  static TensorFlowIgniteException error(ErrorCode code, String format, Object... arguments) {
    return new TensorFlowIgniteException(code, String.format(format, arguments));
  }
}
