package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.ConcurrentChangeException;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.DirectoryState;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/** The entries of directories, in buckets; a bucket is split when the directory grows. */
final class Directories {
  private static final int BUCKET_ENTRIES = 256;

  private Directories() {}

  /** Creates an empty directory without an entry, and returns its id. */
  static String create(MetadataRecords records, Timestamp now) {
    String id = newId();
    records.put(id, DirectoryState.newBuilder().setCreatedAt(now).build());
    records.put(id, 0, DirectoryBucket.getDefaultInstance());
    return id;
  }

  /** A random id of a directory or extent. */
  static String newId() {
    return UUID.randomUUID().toString().replace("-", "");
  }

  static DirectoryState state(MetadataRecords records, String directory) {
    DirectoryState state = records.state(directory);
    if (state == null) {
      throw new ConcurrentChangeException(
          "directory " + directory + " is being created or removed");
    }
    return state;
  }

  /** The entry of a name; null: there is none. */
  static DirectoryEntry find(MetadataRecords records, String directory, String name) {
    int number = LinearHashing.of(state(records, directory)).bucketOf(name);
    return bucket(records, directory, number).getEntriesMap().get(name);
  }

  static void put(MetadataRecords records, String directory, String name, DirectoryEntry entry) {
    DirectoryState state = state(records, directory);
    LinearHashing hashing = LinearHashing.of(state);
    int number = hashing.bucketOf(name);
    DirectoryBucket before = bucket(records, directory, number);
    DirectoryBucket after = before.toBuilder().putEntries(name, entry).build();
    records.put(directory, number, after);
    if (after.getEntriesCount() > BUCKET_ENTRIES
        && after.getEntriesCount() > before.getEntriesCount()) {
      split(records, directory, hashing.next(), hashing.buckets());
      records.put(directory, hashing.grown().into(state));
    }
  }

  static void remove(MetadataRecords records, String directory, String name) {
    int number = LinearHashing.of(state(records, directory)).bucketOf(name);
    DirectoryBucket before = bucket(records, directory, number);
    records.put(directory, number, before.toBuilder().removeEntries(name).build());
  }

  static boolean isEmpty(MetadataRecords records, String directory) {
    int buckets = LinearHashing.of(state(records, directory)).buckets();
    for (int number = 0; number < buckets; number++) {
      if (bucket(records, directory, number).getEntriesCount() > 0) {
        return false;
      }
    }
    return true;
  }

  /** Removes an empty directory, which has no entry any more. */
  static void removeEmpty(MetadataRecords records, String directory) {
    int buckets = LinearHashing.of(state(records, directory)).buckets();
    for (int number = 0; number < buckets; number++) {
      records.removeBucket(directory, number);
    }
    records.removeState(directory);
  }

  /**
   * Visits each entry once, also while the directory grows: the level of a bucket shows whether the
   * bucket was split after the state was read, and then its new part is visited, too.
   */
  static void forEach(
      MetadataRecords records, String directory, Consumer<Map<String, DirectoryEntry>> to) {
    LinearHashing hashing = LinearHashing.of(state(records, directory));
    Deque<int[]> pending = new ArrayDeque<>(); // number and expected level
    for (int number = 0; number < hashing.buckets(); number++) {
      pending.add(new int[] {number, hashing.levelOf(number)});
    }
    while (!pending.isEmpty()) {
      int[] next = pending.remove();
      DirectoryBucket bucket = bucket(records, directory, next[0]);
      if (bucket.getLevel() < next[1]) {
        throw new ConcurrentChangeException(
            "bucket " + next[0] + " of " + directory + " is being split");
      }
      for (int level = next[1]; level < bucket.getLevel(); level++) {
        pending.add(new int[] {next[0] + (1 << level), level + 1});
      }
      to.accept(bucket.getEntriesMap());
    }
  }

  private static DirectoryBucket bucket(MetadataRecords records, String directory, int number) {
    DirectoryBucket bucket = records.bucket(directory, number);
    if (bucket == null && number == 0 && directory.equals(MetadataRecords.ROOT)) {
      return DirectoryBucket.getDefaultInstance();
    }
    if (bucket == null) {
      throw new ConcurrentChangeException(
          "bucket " + number + " of directory " + directory + " is being created or removed");
    }
    return bucket;
  }

  private static void split(MetadataRecords records, String directory, int number, int added) {
    DirectoryBucket whole = bucket(records, directory, number);
    int level = whole.getLevel() + 1;
    DirectoryBucket.Builder stays = DirectoryBucket.newBuilder().setLevel(level);
    DirectoryBucket.Builder goes = DirectoryBucket.newBuilder().setLevel(level);
    whole
        .getEntriesMap()
        .forEach(
            (name, entry) -> {
              boolean same = LinearHashing.lowest(LinearHashing.hash(name), level) == number;
              (same ? stays : goes).putEntries(name, entry);
            });
    records.put(directory, number, stays.build());
    records.put(directory, added, goes.build());
  }
}
