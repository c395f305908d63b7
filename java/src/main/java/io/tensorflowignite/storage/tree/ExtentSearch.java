package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.cache.UnsettledException;
import io.tensorflowignite.v1.DirectoryEntry;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Looks through all files for an extent. Nothing leads from an extent to its file; only who misses
 * a block asks.
 */
final class ExtentSearch {
  private final Records records;
  private final String extent;
  private final Deque<String> ahead = new ArrayDeque<>();
  private boolean found;

  private ExtentSearch(Records records, String extent) {
    this.records = records;
    this.extent = extent;
  }

  static boolean find(Records records, String extent) {
    ExtentSearch search = new ExtentSearch(records, extent);
    search.ahead.push(Records.ROOT);
    while (!search.found && !search.ahead.isEmpty()) {
      search.look(search.ahead.pop());
    }
    return search.found;
  }

  private void look(String directory) {
    try {
      Directories.forEach(records, directory, entries -> entries.values().forEach(this::look));
    } catch (UnsettledException e) {
      // One that was removed since its parent was read has no files any more.
      if (records.state(directory) != null) {
        throw e;
      }
    }
  }

  private void look(DirectoryEntry entry) {
    if (Place.isDirectory(entry)) {
      ahead.push(entry.getDirectoryId());
    } else {
      found |=
          entry.getFile().getExtentsList().stream().anyMatch(own -> own.getId().equals(extent));
    }
  }
}
