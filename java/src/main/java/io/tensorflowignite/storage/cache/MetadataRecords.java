package io.tensorflowignite.storage.cache;

import com.google.common.hash.Hashing;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.tensorflowignite.table.Messages;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.PendingExtents;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.ignite.IgniteCache;

/**
 * The metadata's records by their keys. In a transaction of the calling thread all reads belong to
 * it; otherwise they read this node's copy of the cache. Writes are buffered here until the end of
 * the change, so that a rejected change writes nothing.
 */
public final class MetadataRecords {
  /** The id of the root directory. */
  public static final String ROOT = "root";

  /** Number of records over which pending extents are spread, so that changes rarely conflict. */
  public static final int PENDING = 256;

  private final IgniteCache<String, byte[]> cache;

  /** By key; null: removed. */
  private final Map<String, MessageLite> written = new LinkedHashMap<>();

  private final List<String> garbage = new ArrayList<>();

  MetadataRecords(IgniteCache<String, byte[]> cache) {
    this.cache = cache;
  }

  /** Null: there is no such directory. The root exists even without a record. */
  public DirectoryState state(String directory) {
    DirectoryState state = get(stateKey(directory), DirectoryState.parser());
    return state == null && directory.equals(ROOT) ? DirectoryState.getDefaultInstance() : state;
  }

  public void put(String directory, DirectoryState state) {
    written.put(stateKey(directory), state);
  }

  public void removeState(String directory) {
    written.put(stateKey(directory), null);
  }

  /** Null: the bucket has no record yet. */
  public DirectoryBucket bucket(String directory, int number) {
    return get(bucketKey(directory, number), DirectoryBucket.parser());
  }

  public void put(String directory, int number, DirectoryBucket bucket) {
    written.put(bucketKey(directory, number), bucket);
  }

  public void removeBucket(String directory, int number) {
    written.put(bucketKey(directory, number), null);
  }

  /** Number of the record with the pending extent or removed directory. */
  public static int pendingNumber(String id) {
    return Math.floorMod(
        Hashing.murmur3_32_fixed().hashString(id, StandardCharsets.UTF_8).asInt(), PENDING);
  }

  public PendingExtents pending(int number) {
    PendingExtents pending = get(pendingKey(number), PendingExtents.parser());
    return pending == null ? PendingExtents.getDefaultInstance() : pending;
  }

  public void put(int number, PendingExtents pending) {
    written.put(pendingKey(number), pending);
  }

  /** After the commit, the extent or removed directory is enqueued for the sweeper. */
  public void markGarbage(String id) {
    garbage.add(id);
  }

  List<String> garbage() {
    return garbage;
  }

  void write() {
    written.forEach(
        (key, record) -> {
          if (record == null) {
            cache.remove(key);
          } else {
            cache.put(key, record.toByteArray());
          }
        });
  }

  static String stateKey(String directory) {
    return "directory/" + directory;
  }

  private static String bucketKey(String directory, int number) {
    return stateKey(directory) + "/" + number;
  }

  private static String pendingKey(int number) {
    return "pending/" + number;
  }

  private <M extends MessageLite> M get(String key, Parser<M> parser) {
    if (written.containsKey(key)) {
      @SuppressWarnings("unchecked") // A key has records of one class.
      M known = (M) written.get(key);
      return known;
    }
    return Messages.get(cache, key, parser);
  }
}
