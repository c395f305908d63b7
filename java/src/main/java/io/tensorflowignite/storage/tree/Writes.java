package io.tensorflowignite.storage.tree;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.StorageSettings;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingWrite;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;
import java.util.UUID;
import java.util.function.BiFunction;

/** Writers from their beginning to their end. What they write is seen when it is published. */
public final class Writes {
  private static final int MIN_BLOCK_BYTES = 4 << 10;
  private static final int MAX_BLOCK_BYTES = 4 << 20;

  /** Who reserves is told of each block; and each is looked for when a writer is given up. */
  private static final int MAX_BLOCKS = 1 << 20;

  private final StorageSettings settings;
  private final Changes changes;
  private final TaskFence fence;
  private final Tails tails;

  /** Blocks are got by extent and number; null: there is no such block. */
  public Writes(
      StorageSettings settings,
      Changes changes,
      TaskFence fence,
      BiFunction<String, Integer, byte[]> blocks) {
    this.settings = settings;
    this.changes = changes;
    this.fence = fence;
    this.tails = new Tails(blocks);
  }

  public BeginWriteResponse begin(BeginWriteRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    int blockBytes = request.getBlockBytes() == 0 ? settings.blockBytes() : request.getBlockBytes();
    if (blockBytes < MIN_BLOCK_BYTES || blockBytes > MAX_BLOCK_BYTES) {
      throw TreeErrors.invalid(
          "Blocks of %,d bytes are asked for. They have %,d to %,d bytes. Choose a size in"
              + " between.",
          blockBytes, MIN_BLOCK_BYTES, MAX_BLOCK_BYTES);
    }
    if (request.getMode() == WriteMode.WRITE_MODE_UNSPECIFIED
        || request.getMode() == WriteMode.UNRECOGNIZED) {
      throw TreeErrors.invalid(
          "The writer of '%s' has no mode. It replaces, creates or appends. Name one of these.",
          path);
    }
    String extent = UUID.randomUUID().toString().replace("-", "");
    while (true) {
      PendingWrite write = begin(extent, path, request, blockBytes);
      ByteString head = head(extent, write);
      if (head != null) {
        return BeginWriteResponse.newBuilder()
            .setExtentId(extent)
            .setBlockBytes(blockBytes)
            .setOffset(bytes(write))
            .setHead(head)
            .setWriterTimeout(settings.writerTimeout().toMillis() / 1e3)
            .build();
      }
      requireChanged(extent, path, write);
    }
  }

  private PendingWrite begin(
      String extent, FilePath path, BeginWriteRequest request, int blockBytes) {
    return changes.make(
        "Beginning to write '" + path + "'",
        change -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          Place place =
              request.getParents()
                  ? Place.findOrMake(change.records(), path, FileTree.now())
                  : Place.find(change.records(), path);
          PendingWrite write = write(place, request.getMode(), blockBytes);
          Pendings.put(
              change,
              extent,
              PendingExtent.newBuilder().setSeenAt(FileTree.now()).setWrite(write).build());
          return write;
        });
  }

  private static PendingWrite write(Place place, WriteMode mode, int blockBytes) {
    PendingWrite.Builder write =
        PendingWrite.newBuilder()
            .setPath(place.path.toString())
            .setMode(mode)
            .setBlockBytes(blockBytes);
    if (place.entry == null) {
      return write.build();
    }
    FileInfo file = file(place, mode);
    write.setGeneration(file.getGeneration());
    if (mode == WriteMode.APPEND) {
      write.addAllKept(file.getExtentsList());
      int last = file.getExtentsCount() - 1;
      if (last >= 0 && file.getExtents(last).getBytes() < blockBytes) {
        write.removeKept(last).setTail(file.getExtents(last));
      }
    }
    return write.build();
  }

  private ByteString head(String extent, PendingWrite write) {
    try {
      return tails.read(write.getTail());
    } catch (RuntimeException e) {
      abandon(extent);
      throw e;
    }
  }

  /** Blocks of a tail are gone: fine when the file is another one by now, which is then begun. */
  private void requireChanged(String extent, FilePath path, PendingWrite write) {
    boolean same =
        changes.make(
            "Beginning to write '" + path + "'",
            change -> {
              DirectoryEntry entry = Place.find(change.records(), path).entry;
              return entry != null && endsWith(entry.getFile(), write.getTail());
            });
    if (same) {
      abandon(extent);
      throw new TensorFlowIgniteException(
          ErrorCode.FILE_CORRUPT,
          String.format(
              "'%s' cannot be appended to: its last %,d bytes are lost, or are not what was"
                  + " written. They are written again together with what follows. Write the file"
                  + " anew.",
              path, write.getTail().getBytes()));
    }
  }

  /** A sign of life; how many blocks are reserved now, in all. */
  public int reserve(String extent, int blocks) {
    if (blocks < 0 || blocks > MAX_BLOCKS) {
      throw TreeErrors.invalid(
          "%,d blocks of extent %s are to be reserved. One writer has 0 to %,d. Choose larger"
              + " blocks, or write several files.",
          blocks, extent, MAX_BLOCKS);
    }
    return changes.make(
        "Reserving blocks of " + extent,
        change -> {
          PendingExtent before = Pendings.get(change.records(), extent);
          if (before == null || !before.hasWrite()) {
            throw TreeErrors.changed(
                "extent " + extent, "its writer has ended, or is held for dead");
          }
          int all = Math.max(before.getBlocks(), blocks);
          Pendings.put(
              change, extent, before.toBuilder().setBlocks(all).setSeenAt(FileTree.now()).build());
          return all;
        });
  }

  public FileInfo publish(PublishWriteRequest request) {
    return changes.make(
        "Publishing '" + request.getPath() + "' (extent " + request.getExtentId() + ")",
        change -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          return new Publication(change, request).make();
        });
  }

  /** Ends a writer, if it has not ended. */
  public void abandon(String extent) {
    changes.make(
        "Ending the writer " + extent,
        change -> {
          PendingExtent before = Pendings.get(change.records(), extent);
          if (before != null && before.hasWrite()) {
            Pendings.end(change, extent, before);
          }
          return null;
        });
  }

  /** What a writer of this mode finds: FILE_EXISTS, IS_A_DIRECTORY. */
  static FileInfo file(Place place, WriteMode mode) {
    if (mode == WriteMode.CREATE) {
      throw TreeErrors.exists(place.path.toString());
    }
    if (Place.isDirectory(place.entry)) {
      throw TreeErrors.isADirectory(place.path.toString());
    }
    return place.entry.getFile().toBuilder().setPath(place.path.toString()).build();
  }

  /** Where a writer's extent begins in its file. */
  static long bytes(PendingWrite write) {
    return write.getKeptList().stream().mapToLong(Extent::getBytes).sum();
  }

  static boolean endsWith(FileInfo file, Extent extent) {
    int last = file.getExtentsCount() - 1;
    return last >= 0 && file.getExtents(last).equals(extent);
  }
}
