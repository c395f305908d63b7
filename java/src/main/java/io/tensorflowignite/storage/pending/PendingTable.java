package io.tensorflowignite.storage.pending;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.PendingExtent;
import io.tensorflowignite.v1.PendingExtents;
import io.tensorflowignite.v1.PendingWrite;
import java.util.HashMap;
import java.util.Map;

/** The pending extents, and the removed directories, by their ids. */
public final class PendingTable {
  private final MetadataTransactions transactions;

  public PendingTable(MetadataTransactions transactions) {
    this.transactions = transactions;
  }

  /** All pending extents of this node's copy. */
  public Map<String, PendingExtent> all() {
    return transactions.read(
        "Reading pending extents",
        records -> {
          Map<String, PendingExtent> all = new HashMap<>();
          for (int number = 0; number < MetadataRecords.PENDING; number++) {
            all.putAll(records.pending(number).getExtentsMap());
          }
          return all;
        });
  }

  /** The pending extent of an id in this node's copy; null: there is none. */
  public PendingExtent get(String id) {
    return transactions.read("Reading pending extents", records -> get(records, id));
  }

  /**
   * Removes the record of garbage whose blocks have been removed.
   *
   * @return false: the record has changed since it was observed, and stays
   */
  public boolean removeGarbage(String id, PendingExtent observed) {
    return transactions.run(
        "Removing the record of garbage " + id,
        records -> {
          boolean same = observed.equals(get(records, id));
          if (same) {
            remove(records, id);
          }
          return same;
        });
  }

  /**
   * Makes a writer garbage that was not kept alive. Published blocks stay: the garbage begins
   * behind them.
   *
   * @return false: the writer has changed since it was observed, and goes on
   */
  public boolean markGarbage(String id, PendingExtent observed) {
    return transactions.run(
        "Ending the writer " + id,
        records -> {
          boolean same = observed.hasWrite() && observed.equals(get(records, id));
          if (same) {
            end(records, id, observed);
          }
          return same;
        });
  }

  /** In a change: ends a writer without a further publication. */
  public static void end(MetadataRecords records, String id, PendingExtent writer) {
    PendingWrite write = writer.getWrite();
    int first = write.getPublished() ? blocks(write.getBytes(), write.getBlockBytes()) : 0;
    if (first < writer.getBlocks()) {
      put(records, id, writer.toBuilder().clearWrite().setFirst(first).build());
    } else {
      remove(records, id);
    }
  }

  /** The number of blocks that hold the bytes. */
  public static int blocks(long bytes, int blockBytes) {
    return Math.toIntExact((bytes + blockBytes - 1) / blockBytes);
  }

  /** In a change or read; null: the id has no pending extent. */
  public static PendingExtent get(MetadataRecords records, String id) {
    return records.pending(MetadataRecords.pendingNumber(id)).getExtentsMap().get(id);
  }

  public static void put(MetadataRecords records, String id, PendingExtent extent) {
    int number = MetadataRecords.pendingNumber(id);
    PendingExtents before = records.pending(number);
    records.put(number, before.toBuilder().putExtents(id, extent).build());
    if (!extent.hasWrite()) {
      records.markGarbage(id);
    }
  }

  public static void remove(MetadataRecords records, String id) {
    int number = MetadataRecords.pendingNumber(id);
    PendingExtents before = records.pending(number);
    records.put(number, before.toBuilder().removeExtents(id).build());
  }

  /** In a change: makes the extents of a removed file garbage. */
  public static void discard(MetadataRecords records, FileInfo file, Timestamp now) {
    file.getExtentsList().forEach(extent -> discard(records, extent, now));
  }

  /** In a change: makes an extent garbage that its file has lost, and ends its writer. */
  public static void discard(MetadataRecords records, Extent extent, Timestamp now) {
    PendingExtent before = get(records, extent.getId());
    int reserved = before == null ? 0 : before.getBlocks();
    int published = blocks(extent.getBytes(), extent.getBlockBytes());
    if (reserved + published > 0) {
      put(
          records,
          extent.getId(),
          PendingExtent.newBuilder()
              .setBlocks(Math.max(reserved, published))
              .setSeenAt(now)
              .build());
    } else if (before != null) {
      remove(records, extent.getId());
    }
  }

  /** In a change: makes a removed directory garbage, with everything below it. */
  public static void discardDirectory(MetadataRecords records, String id, Timestamp now) {
    put(records, id, PendingExtent.newBuilder().setDirectoryId(id).setSeenAt(now).build());
  }
}
