package io.tensorflowignite.storage.cache;

import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.v1.DirectoryState;
import org.apache.ignite.Ignite;

/** Changes of the metadata that wait for a short time only. */
public final class ShortTransactions {
  private static final long DEADLINE_MS = 2_000;

  private ShortTransactions() {}

  /** The key of the root directory's record. */
  public static String rootKey() {
    return MetadataRecords.stateKey(MetadataRecords.ROOT);
  }

  /** Writes the root directory's record again. */
  public static void changeRoot(Ignite ignite, Storage store) {
    new MetadataTransactions(ignite, store.caches(), garbage -> {}, DEADLINE_MS)
        .run(
            "Changing '/'",
            records -> {
              DirectoryState root = records.state(MetadataRecords.ROOT);
              records.put(MetadataRecords.ROOT, root);
              return null;
            });
  }
}
