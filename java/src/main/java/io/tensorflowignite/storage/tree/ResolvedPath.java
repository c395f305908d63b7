package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.v1.DirectoryEntry;
import java.util.ArrayList;
import java.util.List;

/** A path, the directories on it, and the entry at its end. */
final class ResolvedPath {
  private static final DirectoryEntry ROOT =
      DirectoryEntry.newBuilder().setDirectoryId(MetadataRecords.ROOT).build();

  final FilePath path;

  /** The ids of the directories from the root to the entry's parent; empty for the root itself. */
  final List<String> through;

  /** Null: the parent exists, and has no such entry. */
  final DirectoryEntry entry;

  private ResolvedPath(FilePath path, List<String> through, DirectoryEntry entry) {
    this.path = path;
    this.through = through;
    this.entry = entry;
  }

  /** Throws FILE_NOT_FOUND or NOT_A_DIRECTORY when the parent does not exist. */
  static ResolvedPath find(MetadataRecords records, FilePath path) {
    return find(records, path, null);
  }

  /** Like find, but creates missing parents. */
  static ResolvedPath findOrCreate(MetadataRecords records, FilePath path, Timestamp now) {
    return find(records, path, now);
  }

  private static ResolvedPath find(MetadataRecords records, FilePath path, Timestamp now) {
    List<String> through = new ArrayList<>();
    DirectoryEntry entry = ROOT;
    for (int depth = 0; depth < path.parts.size(); depth++) {
      if (entry == null && now == null) {
        throw TreeErrors.noParent(path.toString(), path.upTo(depth));
      }
      if (entry == null) {
        entry = directory(Directories.create(records, now));
        put(records, through, path.parts.get(depth - 1), entry);
      }
      if (!isDirectory(entry)) {
        throw TreeErrors.pathIsBlocked(path.toString(), path.upTo(depth));
      }
      through.add(entry.getDirectoryId());
      entry = Directories.find(records, entry.getDirectoryId(), path.parts.get(depth));
    }
    return new ResolvedPath(path, through, entry);
  }

  static boolean isDirectory(DirectoryEntry entry) {
    return !entry.getDirectoryId().isEmpty();
  }

  static DirectoryEntry directory(String id) {
    return DirectoryEntry.newBuilder().setDirectoryId(id).build();
  }

  /** Not for the root. */
  void put(MetadataRecords records, DirectoryEntry after) {
    put(records, through, path.name(), after);
  }

  /** Not for the root. */
  void remove(MetadataRecords records) {
    Directories.remove(records, through.get(through.size() - 1), path.name());
  }

  private static void put(
      MetadataRecords records, List<String> through, String name, DirectoryEntry entry) {
    Directories.put(records, through.get(through.size() - 1), name, entry);
  }
}
