package io.tensorflowignite.storage.pending;

import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.Records;
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
            put(change, id, condemned(seen));
          }
          return same;
        });
  }

  /** What is left of a writer that ends without a further publication. */
  public static PendingExtent condemned(PendingExtent writer) {
    PendingWrite write = writer.getWrite();
    return writer.toBuilder()
        .clearWrite()
        .setFirst(write.getPublished() ? blocks(write.getBytes(), write.getBlockBytes()) : 0)
        .build();
  }

  /** How many blocks so many bytes take. */
  public static int blocks(long bytes, int blockBytes) {
    return Math.toIntExact((bytes + blockBytes - 1) / blockBytes);
  }

  /** As part of a change or look. */
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
}
