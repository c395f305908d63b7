package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Change;
import io.tensorflowignite.storage.cache.Changes;
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

  void run() {
    DirectoryState state = changes.look(what, records -> records.state(directory));
    if (state == null) {
      return;
    }
    for (int number = LinearHashing.of(state).buckets() - 1; number >= 0; number--) {
      boolean gone;
      do {
        gone = drain(number);
      } while (!gone);
    }
  }

  /** False: the bucket has changed meanwhile, since this node's copy was behind. */
  private boolean drain(int number) {
    DirectoryBucket seen = changes.look(what, records -> records.bucket(directory, number));
    List<Extent> written = new ArrayList<>();
    if (seen != null) {
      for (DirectoryEntry entry : seen.getEntriesMap().values()) {
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
          DirectoryBucket bucket = change.records().bucket(directory, number);
          boolean same = seen == null ? bucket == null : seen.equals(bucket);
          if (same) {
            remove(change, number, bucket, written);
          }
          return same;
        });
  }

  private void remove(Change change, int number, DirectoryBucket bucket, List<Extent> written) {
    Timestamp now = FileTree.now();
    written.forEach(extent -> Pendings.discard(change, extent, now));
    if (bucket != null) {
      for (DirectoryEntry entry : bucket.getEntriesMap().values()) {
        if (Place.isDirectory(entry)) {
          Pendings.discardDirectory(change, entry.getDirectoryId(), now);
        }
      }
      change.records().removeBucket(directory, number);
    }
    if (number == 0) {
      change.records().removeState(directory);
    }
  }
}
