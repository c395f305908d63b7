package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_LOST;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_APPEND;
import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_CREATE;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.Durations;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.settings.StorageSettings;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingWrite;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;
import java.util.function.BiFunction;

/** Writers of files, from begin to end. Written bytes become visible when they are published. */
public final class FileWriters {
  private static final int MIN_BLOCK_BYTES = 4 << 10;
  private static final int MAX_BLOCK_BYTES = 4 << 20;

  /**
   * A reservation returns the owner of each block, and the sweeper removes each block of an
   * abandoned writer.
   */
  private static final int MAX_BLOCKS = 1 << 20;

  private final StorageSettings settings;
  private final MetadataTransactions transactions;
  private final TaskFence fence;
  private final TailExtents tails;

  /**
   * @param blocks returns the bytes of a block by extent and number; null: there is no such block
   */
  public FileWriters(
      StorageSettings settings,
      MetadataTransactions transactions,
      TaskFence fence,
      BiFunction<String, Integer, byte[]> blocks) {
    this.settings = settings;
    this.transactions = transactions;
    this.fence = fence;
    this.tails = new TailExtents(blocks);
  }

  public BeginWriteResponse begin(BeginWriteRequest request) {
    FilePath path = FilePath.parse(request.getPath());
    int blockBytes = request.getBlockBytes() == 0 ? settings.blockBytes : request.getBlockBytes();
    if (blockBytes < MIN_BLOCK_BYTES || blockBytes > MAX_BLOCK_BYTES) {
      throw invalidRequest(
          "The requested blocks have %,d bytes. A block has %,d to %,d bytes. Choose a size in this"
              + " range.",
          blockBytes, MIN_BLOCK_BYTES, MAX_BLOCK_BYTES);
    }
    if (request.getMode() == WriteMode.WRITE_MODE_UNSPECIFIED
        || request.getMode() == WriteMode.UNRECOGNIZED) {
      throw invalidRequest(
          "The writer of '%s' has no mode. The modes are REPLACE, CREATE and APPEND. Name one of"
              + " these.",
          path);
    }
    String extent = Directories.newId();
    while (true) {
      PendingWrite write = begin(extent, path, request, blockBytes);
      ByteString head = head(extent, write);
      if (head != null) {
        return BeginWriteResponse.newBuilder()
            .setExtentId(extent)
            .setBlockBytes(blockBytes)
            .setOffset(offset(write))
            .setHead(head)
            .setWriterTimeout(Durations.fromMillis(settings.writerTimeout.toMillis()))
            .build();
      }
      requireChanged(extent, path, write);
    }
  }

  private PendingWrite begin(
      String extent, FilePath path, BeginWriteRequest request, int blockBytes) {
    return transactions.add(
        "Beginning to write '" + path + "'",
        records -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          ResolvedPath place =
              request.getParents()
                  ? ResolvedPath.findOrCreate(records, path, FileTree.now())
                  : ResolvedPath.find(records, path);
          PendingWrite write = newWrite(place, request.getMode(), blockBytes);
          PendingTable.put(
              records,
              extent,
              PendingExtent.newBuilder().setSeenAt(FileTree.now()).setWrite(write).build());
          return write;
        });
  }

  private static PendingWrite newWrite(ResolvedPath place, WriteMode mode, int blockBytes) {
    PendingWrite.Builder write =
        PendingWrite.newBuilder()
            .setPath(place.path.toString())
            .setMode(mode)
            .setBlockBytes(blockBytes);
    if (place.entry == null) {
      return write.build();
    }
    FileInfo file = existingFile(place, mode);
    write.setGeneration(file.getGeneration());
    if (mode == WRITE_MODE_APPEND) {
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

  /**
   * Blocks of the tail are missing. Returns when the file was replaced meanwhile, so that begin can
   * try again.
   */
  private void requireChanged(String extent, FilePath path, PendingWrite write) {
    boolean same =
        transactions.run(
            "Beginning to write '" + path + "'",
            records -> {
              DirectoryEntry entry = ResolvedPath.find(records, path).entry;
              return entry != null && endsWith(entry.getFile(), write.getTail());
            });
    if (same) {
      abandon(extent);
      throw TensorFlowIgniteException.of(
          ERROR_CODE_FILE_LOST,
          "'%s' cannot be appended to: its last %,d bytes are lost. A writer reads"
              + " them to write them again with the new bytes. Write the whole file again.",
          path,
          write.getTail().getBytes());
    }
  }

  /** Keeps the writer alive, and returns the number of blocks that are reserved now. */
  public int reserve(String extent, int blocks) {
    if (blocks < 0 || blocks > MAX_BLOCKS) {
      throw invalidRequest(
          "%,d blocks of extent %s cannot be reserved. One writer has 0 to %,d blocks. Choose"
              + " larger blocks, or write several files.",
          blocks, extent, MAX_BLOCKS);
    }
    return transactions.run(
        "Reserving blocks of " + extent,
        records -> {
          PendingExtent before = PendingTable.get(records, extent);
          if (before == null || !before.hasWrite()) {
            throw TreeErrors.changed(
                "extent " + extent,
                "its writer has ended, or was abandoned after the writer timeout");
          }
          int all = Math.max(before.getBlocks(), blocks);
          PendingTable.put(
              records, extent, before.toBuilder().setBlocks(all).setSeenAt(FileTree.now()).build());
          return all;
        });
  }

  public FileInfo publish(PublishWriteRequest request) {
    return transactions.run(
        "Publishing '" + request.getPath() + "' (extent " + request.getExtentId() + ")",
        records -> {
          if (request.hasTask()) {
            fence.require(request.getTask());
          }
          return new Publication(records, request).run();
        });
  }

  /** Ends a writer without a further publication, unless it has ended. */
  public void abandon(String extent) {
    transactions.run(
        "Ending the writer " + extent,
        records -> {
          PendingExtent before = PendingTable.get(records, extent);
          if (before != null && before.hasWrite()) {
            PendingTable.end(records, extent, before);
          }
          return null;
        });
  }

  /** The existing file at a writer's path; throws FILE_EXISTS or IS_A_DIRECTORY. */
  static FileInfo existingFile(ResolvedPath place, WriteMode mode) {
    if (mode == WRITE_MODE_CREATE) {
      throw TreeErrors.exists(place.path.toString());
    }
    if (ResolvedPath.isDirectory(place.entry)) {
      throw TreeErrors.isADirectory(place.path.toString());
    }
    return place.entry.getFile().toBuilder().setPath(place.path.toString()).build();
  }

  /** The offset of a writer's extent in its file. */
  static long offset(PendingWrite write) {
    return write.getKeptList().stream().mapToLong(Extent::getBytes).sum();
  }

  static boolean endsWith(FileInfo file, Extent extent) {
    int last = file.getExtentsCount() - 1;
    return last >= 0 && file.getExtents(last).equals(extent);
  }
}
