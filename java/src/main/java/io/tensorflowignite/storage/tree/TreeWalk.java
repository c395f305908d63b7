package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.cache.ConcurrentChangeException;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.v1.DirectoryEntry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Visits every entry below a directory. */
final class TreeWalk {
  private static final class Subdirectory {
    final String parent;
    final String name;
    final String id;

    Subdirectory(String parent, String name, String id) {
      this.parent = parent;
      this.name = name;
      this.id = id;
    }
  }

  private final MetadataRecords records;
  private final Predicate<DirectoryEntry> visitor;
  private final Deque<Subdirectory> pending = new ArrayDeque<>();
  private boolean stopped;

  private TreeWalk(MetadataRecords records, Predicate<DirectoryEntry> visitor) {
    this.records = records;
    this.visitor = visitor;
  }

  /**
   * Calls the visitor with every file and directory below a directory, until the visitor returns
   * true.
   *
   * @return whether the visitor has returned true
   */
  static boolean anyMatch(
      MetadataRecords records, String directory, Predicate<DirectoryEntry> visitor) {
    TreeWalk walk = new TreeWalk(records, visitor);
    walk.visit(directory);
    while (!walk.stopped && !walk.pending.isEmpty()) {
      Subdirectory next = walk.pending.pop();
      try {
        walk.visit(next.id);
      } catch (ConcurrentChangeException e) {
        // A directory that was removed after its parent was read has no entries any more.
        if (walk.exists(next)) {
          throw e;
        }
      }
    }
    return walk.stopped;
  }

  private void visit(String directory) {
    List<Map<String, DirectoryEntry>> buckets = new ArrayList<>();
    Directories.forEach(records, directory, buckets::add);
    for (Map<String, DirectoryEntry> entries : buckets) {
      entries.forEach(
          (name, entry) -> {
            stopped = stopped || visitor.test(entry);
            if (ResolvedPath.isDirectory(entry)) {
              pending.push(new Subdirectory(directory, name, entry.getDirectoryId()));
            }
          });
    }
  }

  private boolean exists(Subdirectory directory) {
    try {
      return ResolvedPath.directory(directory.id)
          .equals(Directories.find(records, directory.parent, directory.name));
    } catch (ConcurrentChangeException e) {
      return false;
    }
  }
}
