package io.tensorflowignite.storage.tree;

import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.storage.cache.Changes;
import io.tensorflowignite.v1.DirectoryEntry;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileKind;
import java.util.function.IntFunction;
import org.apache.ignite.Ignite;

/** Empty files in a directory, thousands in one change. */
public final class ManyFiles {
  private static final int AT_ONCE = 10_000;

  private ManyFiles() {}

  public static void make(
      Ignite ignite, Storage store, String directory, int count, IntFunction<String> names) {
    Changes changes = new Changes(ignite, store.caches(), garbage -> {});
    DirectoryEntry file =
        DirectoryEntry.newBuilder()
            .setFile(FileInfo.newBuilder().setKind(FileKind.REGULAR_FILE).setGeneration(1))
            .build();
    for (int i = 0; i < count; i += AT_ONCE) {
      int first = i;
      changes.make(
          "Making many files",
          change -> {
            String id =
                Place.find(change.records(), FilePath.parse(directory)).entry.getDirectoryId();
            for (int n = first; n < Math.min(count, first + AT_ONCE); n++) {
              Directories.put(change.records(), id, names.apply(n), file);
            }
            return null;
          });
    }
  }
}
