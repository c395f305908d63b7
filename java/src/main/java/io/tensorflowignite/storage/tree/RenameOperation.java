package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.pending.PendingTable;

/** Renames a file or directory, in a change. */
final class RenameOperation {
  private RenameOperation() {}

  static void run(MetadataRecords records, FilePath from, FilePath to, boolean overwrite) {
    ResolvedPath source = ResolvedPath.find(records, from);
    if (source.entry == null) {
      throw TreeErrors.notFound(from.toString());
    }
    // The change reads all directories on both paths. So of two concurrent renames that would make
    // a circle, one runs again, and is rejected then.
    ResolvedPath target = ResolvedPath.find(records, to);
    if (target.entry != null && !overwrite) {
      throw TreeErrors.exists(to.toString());
    }
    if (from.parts.equals(to.parts)) {
      return;
    }
    if (ResolvedPath.isDirectory(source.entry)
        && target.through.contains(source.entry.getDirectoryId())) {
      throw invalidRequest(
          "'%s' cannot become '%s', which is inside it. A directory cannot contain itself. Choose"
              + " another target.",
          from, to);
    }
    if (target.entry != null) {
      replace(records, source, target);
    }
    source.remove(records);
    target.put(records, source.entry);
  }

  /** Frees the entry at the target, which must be of the source's kind. */
  private static void replace(MetadataRecords records, ResolvedPath source, ResolvedPath target) {
    String path = target.path.toString();
    if (!ResolvedPath.isDirectory(target.entry)) {
      if (ResolvedPath.isDirectory(source.entry)) {
        throw TreeErrors.notADirectory(path);
      }
      PendingTable.discard(records, target.entry.getFile(), FileTree.now());
      return;
    }
    if (!ResolvedPath.isDirectory(source.entry)) {
      throw TreeErrors.isADirectory(path);
    }
    String id = target.entry.getDirectoryId();
    if (!Directories.isEmpty(records, id)) {
      throw TreeErrors.notEmpty(path);
    }
    Directories.removeEmpty(records, id);
  }
}
