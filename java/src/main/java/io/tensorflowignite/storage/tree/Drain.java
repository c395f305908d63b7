package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.Extent;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ObjIntConsumer;

/** Frees what is in a removed directory. A bucket goes when all that is in it has gone. */
final class Drain {
  private static final int BUCKETS_AT_ONCE = 16;

  private final Changes changes;
  private final String directory;
  private final String what;
  private final ObjIntConsumer<String> remove;

  Drain(Changes changes, String directory, ObjIntConsumer<String> remove) {
    this.changes = changes;
    this.directory = directory;
    this.what = "Freeing the removed directory " + directory;
    this.remove = remove;
  }

  /** The state, by which the buckets are found, goes last. */
  void run() {
    DirectoryState state = changes.look(what, records -> records.state(directory));
    if (state == null) {
      return;
    }
    int left = LinearHashing.of(state).buckets();
    while (left > 0) {
      int first = Math.max(0, left - BUCKETS_AT_ONCE);
      if (drain(first, left)) {
        left = first;
      }
    }
  }

  /** False: buckets have changed meanwhile, since this node's copy was behind. */
  private boolean drain(int first, int end) {
    List<DirectoryBucket> seen = changes.look(what, records -> buckets(records, first, end));
    List<Extent> written = new ArrayList<>();
    for (DirectoryBucket bucket : seen) {
      for (DirectoryEntry entry : bucket.getEntriesMap().values()) {
        for (Extent extent : entry.getFile().getExtentsList()) {
          remove.accept(extent.getId(), Pendings.blocks(extent.getBytes(), extent.getBlockBytes()));
          if (changes.look(what, records -> Pendings.get(records, extent.getId())) != null) {
            written.add(extent);
          }
        }
      }
    }
    return changes.make(
        what,
        change -> {
          boolean same = seen.equals(buckets(change.records(), first, end));
          if (same) {
            Timestamp now = FileTree.now();
            written.forEach(extent -> Pendings.discard(change, extent, now));
            seen.forEach(bucket -> discardDirectories(change, bucket, now));
            remove(change.records(), first, end);
          }
          return same;
        });
  }

  /** What is not there any more is as good as empty. */
  private List<DirectoryBucket> buckets(Records records, int first, int end) {
    List<DirectoryBucket> buckets = new ArrayList<>();
    for (int number = first; number < end; number++) {
      DirectoryBucket bucket = records.bucket(directory, number);
      buckets.add(bucket == null ? DirectoryBucket.getDefaultInstance() : bucket);
    }
    return buckets;
  }

  private static void discardDirectories(Change change, DirectoryBucket bucket, Timestamp now) {
    for (DirectoryEntry entry : bucket.getEntriesMap().values()) {
      if (Place.isDirectory(entry)) {
        Pendings.discardDirectory(change, entry.getDirectoryId(), now);
      }
    }
  }

  private void remove(Records records, int first, int end) {
    for (int number = first; number < end; number++) {
      records.removeBucket(directory, number);
    }
    if (first == 0) {
      records.removeState(directory);
    }
  }
}
