package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileKind;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingWrite;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;

/** One publication, as part of a change. */
final class Publication {
  private final Change change;
  private final PublishWriteRequest request;
  private final Timestamp now = FileTree.now();

  Publication(Change change, PublishWriteRequest request) {
    this.change = change;
    this.request = request;
  }

  FileInfo make() {
    PendingExtent pending = Pendings.get(change.records(), request.getExtentId());
    if (pending == null || !pending.hasWrite()) {
      return repeated();
    }
    PendingWrite write = pending.getWrite();
    requireBytes(pending);
    Place place = Place.find(change.records(), FilePath.parse(write.getPath()));
    FileInfo current = place.entry == null ? null : Writes.file(place, mode(write));
    requireUnchanged(write, current);
    FileInfo file = current;
    if (!write.getPublished() || write.getBytes() != request.getBytes()) {
      file = file(write, current);
      place.put(
          change.records(),
          DirectoryEntry.newBuilder().setFile(file.toBuilder().clearPath()).build());
    }
    if (!write.getPublished() && current != null) {
      discard(write, current);
    }
    if (request.getDone()) {
      Pendings.remove(change, request.getExtentId());
    } else {
      Pendings.put(
          change,
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

  /** A file that must not exist may after all when it is the writer's own. */
  private static WriteMode mode(PendingWrite write) {
    return write.getPublished() ? WriteMode.REPLACE : write.getMode();
  }

  /** The writer has ended: with this very publication, whose answer got lost, or otherwise. */
  private FileInfo repeated() {
    if (request.getDone() && !request.getPath().isEmpty()) {
      Place place = Place.find(change.records(), FilePath.parse(request.getPath()));
      if (place.entry != null) {
        FileInfo file = Writes.file(place, WriteMode.REPLACE);
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
        "its writer has ended, or is held for dead, or its file has been replaced or removed");
  }

  private void requireBytes(PendingExtent pending) {
    PendingWrite write = pending.getWrite();
    long least = Math.max(write.getBytes(), write.getTail().getBytes());
    long most = (long) pending.getBlocks() * write.getBlockBytes();
    if (request.getBytes() < least || request.getBytes() > most) {
      throw TreeErrors.invalid(
          "%,d bytes of an extent of '%s' are to be published. They are at least the %,d that are"
              + " published, or written again, and at most the %,d of the blocks reserved. Correct"
              + " the number, or reserve more.",
          request.getBytes(), write.getPath(), least, most);
    }
  }

  private void requireUnchanged(PendingWrite write, FileInfo current) {
    long generation = current == null ? 0 : current.getGeneration();
    String path = write.getPath();
    if (write.getPublished()) {
      if (current == null || !Writes.endsWith(current, own(write, write.getBytes()))) {
        throw TreeErrors.changed(path, "somebody has removed, renamed, replaced or extended it");
      }
    } else if (write.getMode() == WriteMode.APPEND
        && (generation != write.getGeneration() || !isBase(write, current))) {
      throw TreeErrors.changed(path, "somebody has removed, replaced or extended it");
    }
  }

  /** Whether a file is what an appending writer began with. */
  private static boolean isBase(PendingWrite write, FileInfo current) {
    if (current == null) {
      return true;
    }
    int kept = write.getKeptCount();
    return current.getExtentsCount() == kept + (write.hasTail() ? 1 : 0)
        && current.getExtentsList().subList(0, kept).equals(write.getKeptList())
        && (!write.hasTail() || Writes.endsWith(current, write.getTail()));
  }

  private void discard(PendingWrite write, FileInfo current) {
    if (write.getMode() == WriteMode.APPEND) {
      if (write.hasTail()) {
        Pendings.discard(change, write.getTail(), now);
      }
    } else {
      Pendings.discard(change, current, now);
    }
  }

  private FileInfo file(PendingWrite write, FileInfo current) {
    // Also an extent without bytes: by it a writer knows its file again.
    return FileInfo.newBuilder()
        .setPath(write.getPath())
        .setKind(FileKind.REGULAR_FILE)
        .setBytes(Writes.bytes(write) + request.getBytes())
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
