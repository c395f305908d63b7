package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.storage.cache.Records;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileKind;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;

/** Empty files, many in one change. */
public final class ManyFiles {
  /** What a bucket has on average when a directory has grown by itself. */
  private static final int BUCKET_ENTRIES = 180;

  private static final DirectoryEntry FILE =
      DirectoryEntry.newBuilder()
          .setFile(FileInfo.newBuilder().setKind(FileKind.REGULAR_FILE).setGeneration(1))
          .build();

  private ManyFiles() {}

  /** Puts files into a directory, which grows as it does under writers. */
  public static void put(Ignite ignite, Storage store, String directory, List<String> names) {
    changes(ignite, store)
        .make(
            "Putting many files",
            change -> {
              String id = id(change.records(), directory);
              names.forEach(name -> Directories.put(change.records(), id, name, FILE));
              return null;
            });
  }

  /** Gives an empty directory the buckets that it would have grown, with all files in them. */
  public static void layOut(Ignite ignite, Storage store, String directory, List<String> names) {
    LinearHashing hashing = new LinearHashing(0, 0);
    while (hashing.buckets() * BUCKET_ENTRIES < names.size()) {
      hashing = hashing.grown();
    }
    List<DirectoryBucket.Builder> buckets = new ArrayList<>();
    for (int number = 0; number < hashing.buckets(); number++) {
      buckets.add(DirectoryBucket.newBuilder().setLevel(hashing.levelOf(number)));
    }
    for (String name : names) {
      buckets.get(hashing.bucketOf(name)).putEntries(name, FILE);
    }
    LinearHashing last = hashing;
    changes(ignite, store)
        .make(
            "Laying out many files",
            change -> {
              Records records = change.records();
              String id = id(records, directory);
              records.put(id, last.into(records.state(id)));
              for (int number = 0; number < buckets.size(); number++) {
                records.put(id, number, buckets.get(number).build());
              }
              return null;
            });
  }

  private static Changes changes(Ignite ignite, Storage store) {
    return new Changes(ignite, store.caches(), garbage -> {});
  }

  private static String id(Records records, String directory) {
    return Place.find(records, FilePath.parse(directory)).entry.getDirectoryId();
  }
}
