package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_DIRECTORY;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_REGULAR;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.storage.cache.ConcurrentChangeException;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.FileInfo;
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
 * The tree of directories and files. Reads use this node's copy; each change is one transaction.
 */
public final class FileTree {
  private static final int FILES_PER_RESPONSE = 1_000;

  private final MetadataTransactions transactions;
  private final TaskFence fence;

  public FileTree(MetadataTransactions transactions, TaskFence fence) {
    this.transactions = transactions;
    this.fence = fence;
  }

  /** The file or directory at a path, with its extents. */
  public FileInfo get(String text) {
    FilePath path = FilePath.parse(text);
    return transactions.find(
        "Reading '" + path + "'",
        records -> info(records, path.toString(), existing(records, path)));
  }

  /**
   * Passes on the entries of a directory in the order of names, at most 1,000 at once; of a file,
   * the file with its path.
   */
  public void list(String text, Consumer<List<FileInfo>> to) {
    FilePath path = FilePath.parse(text);
    List<FileInfo> all =
        transactions.readConsistent("Listing '" + path + "'", records -> list(records, path));
    for (int from = 0; from < all.size(); from += FILES_PER_RESPONSE) {
      to.accept(all.subList(from, Math.min(from + FILES_PER_RESPONSE, all.size())));
    }
  }

  private List<FileInfo> list(MetadataRecords records, FilePath path) {
    DirectoryEntry target = entry(path);
    if (!ResolvedPath.isDirectory(target)) {
      return Collections.singletonList(listed(records, path.toString(), target));
    }
    // The order of UTF-8 bytes. The order of UTF-16 units would sort supplementary characters too
    // early.
    Map<ByteString, FileInfo> files = new TreeMap<>(ByteString.unsignedLexicographicalComparator());
    Directories.forEach(
        records,
        target.getDirectoryId(),
        bucket ->
            bucket.forEach(
                (name, entry) -> {
                  FileInfo info = listed(records, name, entry);
                  if (info != null) {
                    files.put(ByteString.copyFromUtf8(name), info);
                  }
                }));
    return new ArrayList<>(files.values());
  }

  /** Counts the files, directories and bytes below a directory; of a file, the file. */
  public GetUsageResponse usage(String text) {
    FilePath path = FilePath.parse(text);
    return transactions.readConsistent(
        "Counting '" + path + "'",
        records -> {
          DirectoryEntry entry = entry(path);
          GetUsageResponse.Builder usage = GetUsageResponse.newBuilder();
          if (ResolvedPath.isDirectory(entry)) {
            TreeWalk.anyMatch(records, entry.getDirectoryId(), below -> count(below, usage));
          } else {
            count(entry, usage);
          }
          return usage.build();
        });
  }

  private static boolean count(DirectoryEntry entry, GetUsageResponse.Builder usage) {
    if (ResolvedPath.isDirectory(entry)) {
      usage.setDirectories(usage.getDirectories() + 1);
    } else {
      usage.setFiles(usage.getFiles() + 1).setBytes(usage.getBytes() + entry.getFile().getBytes());
    }
    return false;
  }

  public void makeDirectory(MakeDirectoryRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    transactions.add(
        "Creating the directory '" + path + "'",
        records -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          makeDirectory(records, path, request);
          return null;
        });
  }

  private static void makeDirectory(
      MetadataRecords records, FilePath path, MakeDirectoryRequest request) {
    Timestamp now = now();
    ResolvedPath place =
        request.getParents()
            ? ResolvedPath.findOrCreate(records, path, now)
            : ResolvedPath.find(records, path);
    if (place.entry == null) {
      place.put(records, ResolvedPath.directory(Directories.create(records, now)));
    } else if (!request.getExistOk() || !ResolvedPath.isDirectory(place.entry)) {
      throw TreeErrors.exists(path.toString());
    }
  }

  public void remove(RemoveFileRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    if (path.isRoot()) {
      throw invalidRequest("'/' cannot be removed. The root always exists. Remove its entries.");
    }
    transactions.run(
        "Removing '" + path + "'",
        records -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          remove(records, ResolvedPath.find(records, path), request);
          return null;
        });
  }

  private static void remove(
      MetadataRecords records, ResolvedPath place, RemoveFileRequest request) {
    String path = place.path.toString();
    if (place.entry == null) {
      throw TreeErrors.notFound(path);
    }
    if (!ResolvedPath.isDirectory(place.entry)) {
      if (request.getKind() == FILE_KIND_DIRECTORY) {
        throw TreeErrors.notADirectory(path);
      }
      PendingTable.discard(records, place.entry.getFile(), now());
    } else if (request.getKind() == FILE_KIND_REGULAR) {
      throw TreeErrors.isADirectory(path);
    } else {
      removeDirectory(records, place, request.getRecursive());
    }
    place.remove(records);
  }

  private static void removeDirectory(
      MetadataRecords records, ResolvedPath place, boolean recursive) {
    String id = place.entry.getDirectoryId();
    if (Directories.isEmpty(records, id)) {
      Directories.removeEmpty(records, id);
    } else if (recursive) {
      PendingTable.discardDirectory(records, id, now());
    } else {
      throw TreeErrors.notEmpty(place.path.toString());
    }
  }

  public void rename(RenameFileRequest request) {
    FilePath source = FilePath.parse(request.getSource());
    FilePath target = FilePath.parse(request.getTarget());
    if (source.isRoot()) {
      throw invalidRequest("'/' cannot be renamed. The root always exists. Rename its entries.");
    }
    transactions.run(
        String.format("Renaming '%s' to '%s'", source, target),
        records -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          RenameOperation.run(records, source, target, request.getOverwrite());
          return null;
        });
  }

  /**
   * Frees everything in a removed directory, then the directory: blocks are removed at once, its
   * subdirectories become garbage. Several nodes may do so at once or one after another.
   *
   * @param remove removes the first N blocks of an extent
   */
  public void freeDirectory(String directory, ObjIntConsumer<String> remove) {
    new RemovedDirectoryCleanup(transactions, directory, remove).run();
  }

  /** Whether a removed directory still has records. */
  public boolean hasDirectory(String directory) {
    return transactions.read("Reading directory " + directory, records -> records.state(directory))
        != null;
  }

  /** Whether an extent belongs to a file. Reads every file, so it is only for errors. */
  public boolean usesExtent(String extent) {
    return transactions.readConsistent(
        "Searching extent " + extent,
        records ->
            TreeWalk.anyMatch(
                records,
                MetadataRecords.ROOT,
                entry ->
                    entry.getFile().getExtentsList().stream()
                        .anyMatch(candidate -> candidate.getId().equals(extent))));
  }

  private DirectoryEntry entry(FilePath path) {
    return transactions.find("Reading '" + path + "'", records -> existing(records, path));
  }

  private static DirectoryEntry existing(MetadataRecords records, FilePath path) {
    ResolvedPath place = ResolvedPath.find(records, path);
    if (place.entry == null) {
      throw TreeErrors.notFound(path.toString());
    }
    return place.entry;
  }

  private static FileInfo info(MetadataRecords records, String path, DirectoryEntry entry) {
    if (!ResolvedPath.isDirectory(entry)) {
      return entry.getFile().toBuilder().setPath(path).build();
    }
    Timestamp created = Directories.state(records, entry.getDirectoryId()).getCreatedAt();
    return FileInfo.newBuilder()
        .setPath(path)
        .setKind(FILE_KIND_DIRECTORY)
        .setModifiedAt(created)
        .setCreatedAt(created)
        .build();
  }

  /** Null: a directory that is being created or removed at this moment. */
  private static FileInfo listed(MetadataRecords records, String name, DirectoryEntry entry) {
    if (!ResolvedPath.isDirectory(entry)) {
      return entry.getFile().toBuilder().setPath(name).clearExtents().build();
    }
    try {
      return info(records, name, entry);
    } catch (ConcurrentChangeException e) {
      return null;
    }
  }

  static Timestamp now() {
    return Timestamps.fromMillis(System.currentTimeMillis());
  }
}
