package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.cache.UnsettledException;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileKind;
import io.tensorflowignite.v1.GetUsageResponse;
import io.tensorflowignite.v1.MakeDirectoryRequest;
import io.tensorflowignite.v1.RemoveFileRequest;
import io.tensorflowignite.v1.RenameFileRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;

/**
 * The tree of directories and files. It is read from this node's copy; each change takes effect in
 * one step.
 */
public final class FileTree {
  private static final int ANSWER_FILES = 1_000;

  private final Changes changes;
  private final TaskFence fence;

  public FileTree(Changes changes, TaskFence fence) {
    this.changes = changes;
    this.fence = fence;
  }

  /** What is at a path, with its extents. */
  public FileInfo get(String text) {
    FilePath path = FilePath.parse(text);
    return changes.find(
        "Looking at '" + path + "'",
        records -> info(records, path.toString(), existing(records, path)));
  }

  /** The entries of a directory by name, at most 1,000 at once; of a file, itself, by its path. */
  public void list(String text, Consumer<List<FileInfo>> to) {
    FilePath path = FilePath.parse(text);
    List<FileInfo> all = changes.settle("Listing '" + path + "'", records -> list(records, path));
    for (int from = 0; from < all.size(); from += ANSWER_FILES) {
      to.accept(all.subList(from, Math.min(from + ANSWER_FILES, all.size())));
    }
  }

  private List<FileInfo> list(Records records, FilePath path) {
    DirectoryEntry found = entry(path);
    if (!Place.isDirectory(found)) {
      return Collections.singletonList(listed(records, path.toString(), found));
    }
    Map<String, DirectoryEntry> entries = new TreeMap<>(FilePath.NAME_ORDER);
    Directories.forEach(records, found.getDirectoryId(), entries::putAll);
    List<FileInfo> all = new ArrayList<>(entries.size());
    entries.forEach(
        (name, entry) -> {
          FileInfo info = listed(records, name, entry);
          if (info != null) {
            all.add(info);
          }
        });
    return all;
  }

  /** Of what is below a directory, or of a file. */
  public GetUsageResponse usage(String text) {
    FilePath path = FilePath.parse(text);
    return changes.settle("Counting '" + path + "'", records -> Usage.of(records, entry(path)));
  }

  public void makeDirectory(MakeDirectoryRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    changes.make(
        "Making the directory '" + path + "'",
        change -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          makeDirectory(change.records(), path, request);
          return null;
        });
  }

  private static void makeDirectory(Records records, FilePath path, MakeDirectoryRequest request) {
    Timestamp now = now();
    Place place =
        request.getParents() ? Place.findOrMake(records, path, now) : Place.find(records, path);
    if (place.entry == null) {
      place.put(records, Place.directory(Directories.make(records, now)));
    } else if (!request.getExistOk() || !Place.isDirectory(place.entry)) {
      throw TreeErrors.exists(path.toString());
    }
  }

  public void remove(RemoveFileRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    if (path.isRoot()) {
      throw TreeErrors.invalid(
          "'/' cannot be removed. The root is always there. Remove what is in it.");
    }
    changes.make(
        "Removing '" + path + "'",
        change -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          remove(change, Place.find(change.records(), path), request);
          return null;
        });
  }

  private static void remove(Change change, Place place, RemoveFileRequest request) {
    String path = place.path.toString();
    if (place.entry == null) {
      throw TreeErrors.notFound(path);
    }
    if (!Place.isDirectory(place.entry)) {
      if (request.getKind() == FileKind.DIRECTORY) {
        throw TreeErrors.notADirectory(path);
      }
      Pendings.discard(change, place.entry.getFile(), now());
    } else if (request.getKind() == FileKind.REGULAR_FILE) {
      throw TreeErrors.isADirectory(path);
    } else {
      removeDirectory(change, place, request.getRecursive());
    }
    place.remove(change.records());
  }

  private static void removeDirectory(Change change, Place place, boolean recursive) {
    String id = place.entry.getDirectoryId();
    if (Directories.isEmpty(change.records(), id)) {
      Directories.removeEmpty(change.records(), id);
    } else if (recursive) {
      Pendings.discardDirectory(change, id, now());
    } else {
      throw TreeErrors.notEmpty(place.path.toString());
    }
  }

  public void rename(RenameFileRequest request) {
    FilePath source = FilePath.parse(request.getSource());
    FilePath target = FilePath.parse(request.getTarget());
    if (source.isRoot()) {
      throw TreeErrors.invalid(
          "'/' cannot be renamed. The root is always there. Rename what is in it.");
    }
    changes.make(
        String.format("Renaming '%s' to '%s'", source, target),
        change -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          Renaming.make(change, source, target, request.getOverwrite());
          return null;
        });
  }

  /**
   * Frees what is in a removed directory, bucket by bucket, until it is gone: blocks are removed at
   * once, directories in it become garbage of their own. Any number of nodes may do it at once, or
   * one after another.
   *
   * @param remove removes the blocks of an extent, of which there are so many.
   */
  public void drain(String directory, ObjIntConsumer<String> remove) {
    new Drain(changes, directory, remove).run();
  }

  /** Whether a directory that was removed has not been freed to its end. */
  public boolean isKept(String directory) {
    return changes.look("Looking at directory " + directory, records -> records.state(directory))
        != null;
  }

  /** Whether an extent is of a file. It looks at every file: for errors only. */
  public boolean has(String extent) {
    return changes.settle(
        "Looking for extent " + extent, records -> ExtentSearch.find(records, extent));
  }

  private DirectoryEntry entry(FilePath path) {
    return changes.find("Looking at '" + path + "'", records -> existing(records, path));
  }

  private static DirectoryEntry existing(Records records, FilePath path) {
    Place place = Place.find(records, path);
    if (place.entry == null) {
      throw TreeErrors.notFound(path.toString());
    }
    return place.entry;
  }

  private static FileInfo info(Records records, String path, DirectoryEntry entry) {
    if (!Place.isDirectory(entry)) {
      return entry.getFile().toBuilder().setPath(path).build();
    }
    Timestamp made = Directories.state(records, entry.getDirectoryId()).getCreatedAt();
    return FileInfo.newBuilder()
        .setPath(path)
        .setKind(FileKind.DIRECTORY)
        .setModifiedAt(made)
        .setCreatedAt(made)
        .build();
  }

  /** Null: a directory that is being made or removed just now. */
  private static FileInfo listed(Records records, String name, DirectoryEntry entry) {
    if (!Place.isDirectory(entry)) {
      return entry.getFile().toBuilder().setPath(name).clearExtents().build();
    }
    try {
      return info(records, name, entry);
    } catch (UnsettledException gone) {
      return null;
    }
  }

  static Timestamp now() {
    return Timestamps.fromMillis(System.currentTimeMillis());
  }
}
