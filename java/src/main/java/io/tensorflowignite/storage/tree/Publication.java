package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_REGULAR;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_APPEND;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingWrite;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;

/** One publication, in a change. */
final class Publication {
  private final MetadataRecords records;
  private final PublishWriteRequest request;
  private final Timestamp now = FileTree.now();

  Publication(MetadataRecords records, PublishWriteRequest request) {
    this.records = records;
    this.request = request;
  }

  FileInfo run() {
    PendingExtent pending = PendingTable.get(records, request.getExtentId());
    if (pending == null || !pending.hasWrite()) {
      return repeated();
    }
    PendingWrite write = pending.getWrite();
    requireBytes(pending);
    ResolvedPath place = ResolvedPath.find(records, FilePath.parse(write.getPath()));
    FileInfo current = place.entry == null ? null : FileWriters.existingFile(place, mode(write));
    requireUnchanged(write, current);
    FileInfo file = current;
    if (!write.getPublished() || write.getBytes() != request.getBytes()) {
      file = file(write, current);
      place.put(records, DirectoryEntry.newBuilder().setFile(file.toBuilder().clearPath()).build());
    }
    if (!write.getPublished() && current != null) {
      discard(write, current);
    }
    if (request.getDone()) {
      PendingTable.remove(records, request.getExtentId());
    } else {
      PendingTable.put(
          records,
          request.getExtentId(),
          pending.toBuilder()
              .setSeenAt(now)
              .setWrite(
                  write.toBuilder()
                      .setPublished(true)
                      .setBytes(request.getBytes())
                      .setGeneration(file.getGeneration()))
              .build());
    }
    return file;
  }

  /** A writer of mode CREATE may replace the file that it has published itself. */
  private static WriteMode mode(PendingWrite write) {
    return write.getPublished() ? WRITE_MODE_REPLACE : write.getMode();
  }

  /**
   * The writer has ended: with this publication, whose response was lost, or for another reason.
   */
  private FileInfo repeated() {
    if (request.getDone() && !request.getPath().isEmpty()) {
      ResolvedPath place = ResolvedPath.find(records, FilePath.parse(request.getPath()));
      if (place.entry != null) {
        FileInfo file = FileWriters.existingFile(place, WRITE_MODE_REPLACE);
        int last = file.getExtentsCount() - 1;
        if (last >= 0
            && file.getExtents(last).getId().equals(request.getExtentId())
            && file.getExtents(last).getBytes() == request.getBytes()) {
          return file;
        }
      }
    }
    throw TreeErrors.changed(
        request.getPath().isEmpty() ? "extent " + request.getExtentId() : request.getPath(),
        "its writer has ended or was abandoned after the writer timeout, or its file was replaced"
            + " or removed");
  }

  private void requireBytes(PendingExtent pending) {
    PendingWrite write = pending.getWrite();
    long least = Math.max(write.getBytes(), write.getTail().getBytes());
    long most = (long) pending.getBlocks() * write.getBlockBytes();
    if (request.getBytes() < least || request.getBytes() > most) {
      throw invalidRequest(
          "%,d bytes of an extent of '%s' cannot be published. The number is at least %,d, the"
              + " bytes that are already in the file, and at most %,d, the bytes of the reserved"
              + " blocks. Publish a number in this range, or reserve more blocks.",
          request.getBytes(), write.getPath(), least, most);
    }
  }

  private void requireUnchanged(PendingWrite write, FileInfo current) {
    long generation = current == null ? 0 : current.getGeneration();
    String path = write.getPath();
    if (write.getPublished()) {
      if (current == null || !FileWriters.endsWith(current, own(write, write.getBytes()))) {
        throw TreeErrors.changed(
            path, "another caller has removed, renamed, replaced or extended it");
      }
    } else if (write.getMode() == WRITE_MODE_APPEND
        && (generation != write.getGeneration() || !isBase(write, current))) {
      throw TreeErrors.changed(path, "another caller has removed, replaced or extended it");
    }
  }

  /** Whether the file is still as it was when the appending writer began. */
  private static boolean isBase(PendingWrite write, FileInfo current) {
    if (current == null) {
      return true;
    }
    int kept = write.getKeptCount();
    return current.getExtentsCount() == kept + (write.hasTail() ? 1 : 0)
        && current.getExtentsList().subList(0, kept).equals(write.getKeptList())
        && (!write.hasTail() || FileWriters.endsWith(current, write.getTail()));
  }

  private void discard(PendingWrite write, FileInfo current) {
    if (write.getMode() == WRITE_MODE_APPEND) {
      if (write.hasTail()) {
        PendingTable.discard(records, write.getTail(), now);
      }
    } else {
      PendingTable.discard(records, current, now);
    }
  }

  private FileInfo file(PendingWrite write, FileInfo current) {
    // Also an extent without bytes: a writer recognizes its file by it.
    return FileInfo.newBuilder()
        .setPath(write.getPath())
        .setKind(FILE_KIND_REGULAR)
        .setBytes(FileWriters.offset(write) + request.getBytes())
        .setModifiedAt(now)
        .setCreatedAt(current == null ? now : current.getCreatedAt())
        .setGeneration(current == null ? 1 : current.getGeneration() + 1)
        .addAllExtents(write.getKeptList())
        .addExtents(own(write, request.getBytes()))
        .build();
  }

  private Extent own(PendingWrite write, long bytes) {
    return Extent.newBuilder()
        .setId(request.getExtentId())
        .setBytes(bytes)
        .setBlockBytes(write.getBlockBytes())
        .build();
  }
}
