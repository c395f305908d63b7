package io.tensorflowignite.storage.tree;

import static io.tensorflowignite.v1.FileKind.FILE_KIND_REGULAR;

import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.cache.MetadataRecords;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.FileInfo;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;

/** Creates many empty files in one change. */
public final class ManyFiles {
  /** Average number of entries of a bucket after a directory has grown by single writes. */
  private static final int BUCKET_ENTRIES = 180;

  private static final DirectoryEntry FILE =
      DirectoryEntry.newBuilder()
          .setFile(FileInfo.newBuilder().setKind(FILE_KIND_REGULAR).setGeneration(1))
          .build();

  private ManyFiles() {}

  /** Puts files into a directory, which grows as with single writes. */
  public static void put(Ignite ignite, Storage store, String directory, List<String> names) {
    transactions(ignite, store)
        .run(
            "Putting many files",
            records -> {
              String id = id(records, directory);
              names.forEach(name -> Directories.put(records, id, name, FILE));
              return null;
            });
  }

  /** Writes the final buckets of a directory with these files at once. */
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
    transactions(ignite, store)
        .run(
            "Laying out many files",
            records -> {
              String id = id(records, directory);
              records.put(id, last.into(records.state(id)));
              for (int number = 0; number < buckets.size(); number++) {
                records.put(id, number, buckets.get(number).build());
              }
              return null;
            });
  }

  private static MetadataTransactions transactions(Ignite ignite, Storage store) {
    return new MetadataTransactions(ignite, store.caches(), garbage -> {});
  }

  private static String id(MetadataRecords records, String directory) {
    return ResolvedPath.find(records, FilePath.parse(directory)).entry.getDirectoryId();
  }
}
