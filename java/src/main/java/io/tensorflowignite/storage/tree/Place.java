package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.v1.DirectoryEntry;
import java.util.ArrayList;
import java.util.List;

/** Where a path leads: the directories that it goes through, and the entry at its end. */
final class Place {
  private static final DirectoryEntry ROOT =
      DirectoryEntry.newBuilder().setDirectoryId(Records.ROOT).build();

  final FilePath path;

  /** The ids from the root to the directory that the entry is in; empty for the root itself. */
  final List<String> through;

  /** Null: there is nothing, but a directory to put something into. */
  final DirectoryEntry entry;

  private Place(FilePath path, List<String> through, DirectoryEntry entry) {
    this.path = path;
    this.through = through;
    this.entry = entry;
  }

  /** FILE_NOT_FOUND, NOT_A_DIRECTORY when there is no directory that the entry could be in. */
  static Place find(Records records, FilePath path) {
    return find(records, path, null);
  }

  /** The same; missing directories before the last part are made. */
  static Place findOrMake(Records records, FilePath path, Timestamp now) {
    return find(records, path, now);
  }

  private static Place find(Records records, FilePath path, Timestamp now) {
    List<String> through = new ArrayList<>();
    DirectoryEntry entry = ROOT;
    for (int depth = 0; depth < path.parts().size(); depth++) {
      if (entry == null && now == null) {
        throw TreeErrors.noParent(path.toString(), path.upTo(depth));
      }
      if (entry == null) {
        entry = directory(Directories.make(records, now));
        put(records, through, path.parts().get(depth - 1), entry);
      }
      if (!isDirectory(entry)) {
        throw TreeErrors.inTheWay(path.toString(), path.upTo(depth));
      }
      through.add(entry.getDirectoryId());
      entry = Directories.find(records, entry.getDirectoryId(), path.parts().get(depth));
    }
    return new Place(path, through, entry);
  }

  static boolean isDirectory(DirectoryEntry entry) {
    return !entry.getDirectoryId().isEmpty();
  }

  static DirectoryEntry directory(String id) {
    return DirectoryEntry.newBuilder().setDirectoryId(id).build();
  }

  /** Not for the root. */
  void put(Records records, DirectoryEntry after) {
    put(records, through, path.name(), after);
  }

  /** Not for the root. */
  void remove(Records records) {
    Directories.remove(records, through.get(through.size() - 1), path.name());
  }

  private static void put(
      Records records, List<String> through, String name, DirectoryEntry entry) {
    Directories.put(records, through.get(through.size() - 1), name, entry);
  }
}
