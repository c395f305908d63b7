package io.tensorflowignite.storage.tree;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.storage.cache.UnsettledException;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.DirectoryState;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/** The entries of directories, in buckets that are split as a directory grows. */
final class Directories {
  private static final int BUCKET_ENTRIES = 256;

  private Directories() {}

  /** Makes an empty directory that no entry names yet; its id. */
  static String make(Records records, Timestamp now) {
    String id = UUID.randomUUID().toString().replace("-", "");
    records.put(id, DirectoryState.newBuilder().setCreatedAt(now).build());
    records.put(id, 0, DirectoryBucket.getDefaultInstance());
    return id;
  }

  static DirectoryState state(Records records, String directory) {
    DirectoryState state = records.state(directory);
    if (state == null) {
      throw new UnsettledException("directory " + directory + " is being made or removed");
    }
    return state;
  }

  /** The entry of a name; null: there is none. */
  static DirectoryEntry find(Records records, String directory, String name) {
    int number = LinearHashing.of(state(records, directory)).bucketOf(name);
    return bucket(records, directory, number).getEntriesMap().get(name);
  }

  static void put(Records records, String directory, String name, DirectoryEntry entry) {
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

  static void remove(Records records, String directory, String name) {
    int number = LinearHashing.of(state(records, directory)).bucketOf(name);
    DirectoryBucket before = bucket(records, directory, number);
    records.put(directory, number, before.toBuilder().removeEntries(name).build());
  }

  static boolean isEmpty(Records records, String directory) {
    int buckets = LinearHashing.of(state(records, directory)).buckets();
    for (int number = 0; number < buckets; number++) {
      if (bucket(records, directory, number).getEntriesCount() > 0) {
        return false;
      }
    }
    return true;
  }

  /** Removes an empty directory that no entry names any more. */
  static void removeEmpty(Records records, String directory) {
    int buckets = LinearHashing.of(state(records, directory)).buckets();
    for (int number = 0; number < buckets; number++) {
      records.removeBucket(directory, number);
    }
    records.removeState(directory);
  }

  /**
   * Every bucket, each entry in one of them, also while the directory grows: a bucket that has been
   * split since the state was read says so by its level, and what it lost is then looked for, too.
   */
  static void forEach(Records records, String directory, Consumer<Map<String, DirectoryEntry>> to) {
    LinearHashing hashing = LinearHashing.of(state(records, directory));
    Deque<int[]> ahead = new ArrayDeque<>();
    for (int number = 0; number < hashing.buckets(); number++) {
      ahead.add(new int[] {number, hashing.levelOf(number)});
    }
    while (!ahead.isEmpty()) {
      int[] next = ahead.remove();
      DirectoryBucket bucket = bucket(records, directory, next[0]);
      if (bucket.getLevel() < next[1]) {
        throw new UnsettledException("bucket " + next[0] + " of " + directory + " is being split");
      }
      for (int level = next[1]; level < bucket.getLevel(); level++) {
        ahead.add(new int[] {next[0] + (1 << level), level + 1});
      }
      to.accept(bucket.getEntriesMap());
    }
  }

  private static DirectoryBucket bucket(Records records, String directory, int number) {
    DirectoryBucket bucket = records.bucket(directory, number);
    if (bucket == null && number == 0 && directory.equals(Records.ROOT)) {
      return DirectoryBucket.getDefaultInstance();
    }
    if (bucket == null) {
      throw new UnsettledException(
          "bucket " + number + " of directory " + directory + " is being made or removed");
    }
    return bucket;
  }

  private static void split(Records records, String directory, int number, int added) {
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
