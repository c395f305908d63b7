package io.tensorflowignite.storage.pending;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingExtents;
import io.tensorflowignite.v1.PendingWrite;
import java.util.HashMap;
import java.util.Map;

/** The pending extents, and removed directories, by their ids. */
public final class Pendings {
  private final Changes changes;

  public Pendings(Changes changes) {
    this.changes = changes;
  }

  /** All, as this node's copy has them. */
  public Map<String, PendingExtent> all() {
    return changes.look(
        "Reading what is pending",
        records -> {
          Map<String, PendingExtent> all = new HashMap<>();
          for (int number = 0; number < Records.PENDING; number++) {
            all.putAll(records.pending(number).getExtentsMap());
          }
          return all;
        });
  }

  /** What is pending under an id, as this node's copy has it; null: nothing. */
  public PendingExtent get(String id) {
    return changes.look("Reading what is pending", records -> get(records, id));
  }

  /** Garbage that has been removed is forgotten, unless it has changed since it was seen. */
  public boolean forget(String id, PendingExtent seen) {
    return changes.make(
        "Forgetting the garbage " + id,
        change -> {
          boolean same = seen.equals(get(change.records(), id));
          if (same) {
            remove(change, id);
          }
          return same;
        });
  }

  /**
   * A writer that is dead becomes garbage, unless it has changed since it was seen. Blocks of which
   * a file was made stay: the garbage begins behind them.
   */
  public boolean condemn(String id, PendingExtent seen) {
    return changes.make(
        "Ending the writer " + id,
        change -> {
          boolean same = seen.hasWrite() && seen.equals(get(change.records(), id));
          if (same) {
            end(change, id, seen);
          }
          return same;
        });
  }

  /** As part of a change: a writer ends without a further publication. */
  public static void end(Change change, String id, PendingExtent writer) {
    PendingWrite write = writer.getWrite();
    int first = write.getPublished() ? blocks(write.getBytes(), write.getBlockBytes()) : 0;
    if (first < writer.getBlocks()) {
      put(change, id, writer.toBuilder().clearWrite().setFirst(first).build());
    } else {
      remove(change, id);
    }
  }

  /** How many blocks so many bytes take. */
  public static int blocks(long bytes, int blockBytes) {
    return Math.toIntExact((bytes + blockBytes - 1) / blockBytes);
  }

  /** As part of a change or look; null: nothing is pending under the id. */
  public static PendingExtent get(Records records, String id) {
    return records.pending(Records.pendingNumber(id)).getExtentsMap().get(id);
  }

  /** As part of a change. */
  public static void put(Change change, String id, PendingExtent extent) {
    int number = Records.pendingNumber(id);
    PendingExtents before = change.records().pending(number);
    change.records().put(number, before.toBuilder().putExtents(id, extent).build());
    if (!extent.hasWrite()) {
      change.garbage(id);
    }
  }

  /** As part of a change. */
  public static void remove(Change change, String id) {
    int number = Records.pendingNumber(id);
    PendingExtents before = change.records().pending(number);
    change.records().put(number, before.toBuilder().removeExtents(id).build());
  }

  /** As part of a change: a file is no more. */
  public static void discard(Change change, FileInfo file, Timestamp now) {
    file.getExtentsList().forEach(extent -> discard(change, extent, now));
  }

  /** As part of a change: an extent is not of its file any more. Who still writes it is ended. */
  public static void discard(Change change, Extent extent, Timestamp now) {
    PendingExtent before = get(change.records(), extent.getId());
    int known = before == null ? 0 : before.getBlocks();
    int own = blocks(extent.getBytes(), extent.getBlockBytes());
    if (known + own > 0) {
      put(
          change,
          extent.getId(),
          PendingExtent.newBuilder().setBlocks(Math.max(known, own)).setSeenAt(now).build());
    } else if (before != null) {
      remove(change, extent.getId());
    }
  }

  /** As part of a change: no entry names a directory any more, nor what is in it. */
  public static void discardDirectory(Change change, String id, Timestamp now) {
    put(change, id, PendingExtent.newBuilder().setDirectoryId(id).setSeenAt(now).build());
  }
}
