package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.Extent;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ObjIntConsumer;

/** Frees everything in a removed directory. A bucket is removed after its entries. */
final class RemovedDirectoryCleanup {
  private static final int BUCKETS_PER_CHANGE = 16;

  private final MetadataTransactions transactions;
  private final String directory;
  private final String operation;
  private final ObjIntConsumer<String> remove;

  RemovedDirectoryCleanup(
      MetadataTransactions transactions, String directory, ObjIntConsumer<String> remove) {
    this.transactions = transactions;
    this.directory = directory;
    this.operation = "Freeing the removed directory " + directory;
    this.remove = remove;
  }

  /** The state is removed last, since it leads to the buckets. */
  void run() {
    DirectoryState state = transactions.read(operation, records -> records.state(directory));
    if (state == null) {
      return;
    }
    int left = LinearHashing.of(state).buckets();
    while (left > 0) {
      int first = Math.max(0, left - BUCKETS_PER_CHANGE);
      if (free(first, left)) {
        left = first;
      }
    }
  }

  /** False: this node's copy was not up to date; the caller must try again. */
  private boolean free(int first, int end) {
    List<DirectoryBucket> sample =
        transactions.read(operation, records -> buckets(records, first, end));
    List<Extent> written = new ArrayList<>();
    for (DirectoryBucket bucket : sample) {
      for (DirectoryEntry entry : bucket.getEntriesMap().values()) {
        for (Extent extent : entry.getFile().getExtentsList()) {
          remove.accept(
              extent.getId(), PendingTable.blocks(extent.getBytes(), extent.getBlockBytes()));
          if (transactions.read(operation, records -> PendingTable.get(records, extent.getId()))
              != null) {
            written.add(extent);
          }
        }
      }
    }
    return transactions.run(
        operation,
        records -> {
          boolean same = sample.equals(buckets(records, first, end));
          if (same) {
            Timestamp now = FileTree.now();
            written.forEach(extent -> PendingTable.discard(records, extent, now));
            sample.forEach(bucket -> discardDirectories(records, bucket, now));
            remove(records, first, end);
          }
          return same;
        });
  }

  /** A missing bucket counts as empty. */
  private List<DirectoryBucket> buckets(MetadataRecords records, int first, int end) {
    List<DirectoryBucket> buckets = new ArrayList<>();
    for (int number = first; number < end; number++) {
      DirectoryBucket bucket = records.bucket(directory, number);
      buckets.add(bucket == null ? DirectoryBucket.getDefaultInstance() : bucket);
    }
    return buckets;
  }

  private static void discardDirectories(
      MetadataRecords records, DirectoryBucket bucket, Timestamp now) {
    for (DirectoryEntry entry : bucket.getEntriesMap().values()) {
      if (ResolvedPath.isDirectory(entry)) {
        PendingTable.discardDirectory(records, entry.getDirectoryId(), now);
      }
    }
  }

  private void remove(MetadataRecords records, int first, int end) {
    for (int number = first; number < end; number++) {
      records.removeBucket(directory, number);
    }
    if (first == 0) {
      records.removeState(directory);
    }
  }
}
