package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.cache.UnsettledException;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.GetUsageResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/** Counts what is below a directory. */
final class Usage {
  private static final class Found {
    final String parent;
    final String name;
    final String id;

    Found(String parent, String name, String id) {
      this.parent = parent;
      this.name = name;
      this.id = id;
    }
  }

  private final Records records;
  private final Deque<Found> ahead = new ArrayDeque<>();
  private final GetUsageResponse.Builder usage = GetUsageResponse.newBuilder();

  private Usage(Records records) {
    this.records = records;
  }

  static GetUsageResponse of(Records records, DirectoryEntry entry) {
    Usage usage = new Usage(records);
    if (Place.isDirectory(entry)) {
      usage.count(entry.getDirectoryId());
    } else {
      usage.add(entry);
    }
    return usage.usage.build();
  }

  private void count(String top) {
    addAll(top);
    while (!ahead.isEmpty()) {
      Found next = ahead.pop();
      try {
        addAll(next.id);
      } catch (UnsettledException e) {
        if (isThere(next)) {
          throw e;
        }
      }
    }
  }

  private void addAll(String directory) {
    List<Map<String, DirectoryEntry>> whole = new ArrayList<>();
    Directories.forEach(records, directory, whole::add);
    for (Map<String, DirectoryEntry> entries : whole) {
      entries.forEach(
          (name, entry) -> {
            if (Place.isDirectory(entry)) {
              usage.setDirectories(usage.getDirectories() + 1);
              ahead.push(new Found(directory, name, entry.getDirectoryId()));
            } else {
              add(entry);
            }
          });
    }
  }

  private void add(DirectoryEntry file) {
    usage.setFiles(usage.getFiles() + 1);
    usage.setBytes(usage.getBytes() + file.getFile().getBytes());
  }

  /**
   * What has been removed since its parent was read counts no more; what is in it is not missed.
   */
  private boolean isThere(Found directory) {
    try {
      return Place.directory(directory.id)
          .equals(Directories.find(records, directory.parent, directory.name));
    } catch (UnsettledException e) {
      return false;
    }
  }
}
