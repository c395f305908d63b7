package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.pending.Pendings;

/** Renames within one change. */
final class Renaming {
  private Renaming() {}

  static void make(Change change, FilePath from, FilePath to, boolean overwrite) {
    Records records = change.records();
    Place source = Place.find(records, from);
    if (source.entry == null) {
      throw TreeErrors.notFound(from.toString());
    }
    // The directories on the way are part of the change: of two renames that would put each
    // other's target below its source, one is made again, and refused then.
    Place target = Place.find(records, to);
    if (target.entry != null && !overwrite) {
      throw TreeErrors.exists(to.toString());
    }
    if (from.parts().equals(to.parts())) {
      return;
    }
    if (Place.isDirectory(source.entry) && target.through.contains(source.entry.getDirectoryId())) {
      throw TreeErrors.invalid(
          "'%s' cannot become '%s', which is inside it. A directory stays outside of itself. Choose"
              + " another target.",
          from, to);
    }
    if (target.entry != null) {
      replace(change, source, target);
    }
    source.remove(records);
    target.put(records, source.entry);
  }

  /** Frees what is at the target, which must be of the source's kind. */
  private static void replace(Change change, Place source, Place target) {
    String path = target.path.toString();
    if (!Place.isDirectory(target.entry)) {
      if (Place.isDirectory(source.entry)) {
        throw TreeErrors.notADirectory(path);
      }
      Pendings.discard(change, target.entry.getFile(), FileTree.now());
      return;
    }
    if (!Place.isDirectory(source.entry)) {
      throw TreeErrors.isADirectory(path);
    }
    String id = target.entry.getDirectoryId();
    if (!Directories.isEmpty(change.records(), id)) {
      throw TreeErrors.notEmpty(path);
    }
    Directories.removeEmpty(change.records(), id);
  }
}
