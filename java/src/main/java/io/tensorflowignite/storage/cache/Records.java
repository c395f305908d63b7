package io.tensorflowignite.storage.cache;

import com.google.common.hash.Hashing;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.tensorflowignite.v1.DirectoryBucket;
import io.tensorflowignite.v1.DirectoryState;
import io.tensorflowignite.v1.PendingExtents;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.ignite.IgniteCache;

/**
 * The metadata's records by their keys. Inside a transaction of the calling thread they are part of
 * it; outside, they are what this node's copy of the cache has. What is put is kept here until the
 * end of the change, so that a change that is refused has written nothing.
 */
public final class Records {
  /** The id of the directory that is always there. */
  public static final String ROOT = "root";

  /** Pending extents are spread over so many records, so that few changes meet in one. */
  public static final int PENDING = 256;

  private final IgniteCache<String, byte[]> cache;

  /** By key; null: removed. */
  private final Map<String, MessageLite> written = new LinkedHashMap<>();

  Records(IgniteCache<String, byte[]> cache) {
    this.cache = cache;
  }

  /** Null: there is no such directory. The root is there even when its record is not. */
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

  /** Null: nothing has been put into it yet. */
  public DirectoryBucket bucket(String directory, int number) {
    return get(bucketKey(directory, number), DirectoryBucket.parser());
  }

  public void put(String directory, int number, DirectoryBucket bucket) {
    written.put(bucketKey(directory, number), bucket);
  }

  public void removeBucket(String directory, int number) {
    written.put(bucketKey(directory, number), null);
  }

  /** In which record an extent, or a removed directory, is pending. */
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
      @SuppressWarnings("unchecked") // One key holds one kind of record.
      M known = (M) written.get(key);
      return known;
    }
    byte[] bytes = cache.get(key);
    if (bytes == null) {
      return null;
    }
    try {
      return parser.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(
          "The value of " + key + " in cache " + cache.getName() + " is not of this store", e);
    }
  }
}
