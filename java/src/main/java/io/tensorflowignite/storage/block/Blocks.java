package io.tensorflowignite.storage.block;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.cache.StorageCaches;
import io.tensorflowignite.v1.ErrorCode;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.processors.cache.CacheInvalidStateException;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;

/** The blocks of all extents, in their cache under {@code extent/number}. */
public final class Blocks {
  private static final int REMOVED_AT_ONCE = 64;
  private static final long GROW_TIMEOUT_MS = 20_000;

  private final Ignite ignite;
  private final StorageCaches caches;
  private volatile Room room;

  public Blocks(Ignite ignite, StorageCaches caches) {
    this.ignite = ignite;
    this.caches = caches;
  }

  static String key(String extent, int number) {
    return extent + "/" + number;
  }

  /**
   * Stores a block that is as long as blocks of its extent are: what it holds never changes.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: the rest of the memory is kept free.
   */
  public void put(String extent, int number, Block block) {
    requireRoom(block);
    caches.blocks().put(key(extent, number), block.value());
  }

  /**
   * Stores a block that may still grow: a longer one that is there stays. So a put that was given
   * up, and arrives after its repetition, does no harm.
   */
  public void grow(String extent, int number, Block block) {
    requireRoom(block);
    String key = key(extent, number);
    IgniteCache<String, byte[]> cache = caches.blocks();
    try (Transaction change =
        ignite
            .transactions()
            .txStart(
                TransactionConcurrency.PESSIMISTIC,
                TransactionIsolation.REPEATABLE_READ,
                GROW_TIMEOUT_MS,
                1)) {
      byte[] present = cache.get(key);
      if (present == null || present.length <= block.value().length) {
        cache.put(key, block.value());
      }
      change.commit();
    }
  }

  private void requireRoom(Block block) {
    Room known = room;
    if (known == null) {
      // A cluster that is not active has no caches yet.
      known = new Room(ignite, caches.blocks());
      room = known;
    }
    known.require(block.value().length);
  }

  /**
   * The block; null when it is not there.
   *
   * @throws TensorFlowIgniteException FILE_CORRUPT: it is not what was written, or the nodes that
   *     hold it are away.
   */
  public Block get(String extent, int number) {
    byte[] value;
    try {
      value = caches.blocks().get(key(extent, number));
    } catch (CacheException e) {
      if (X.hasCause(e, CacheInvalidStateException.class)) {
        throw away(extent, number, e);
      }
      throw e;
    }
    if (value == null) {
      return null;
    }
    Block block = Block.verified(value);
    if (block == null) {
      throw damaged(extent, number, value.length);
    }
    return block;
  }

  /**
   * The block.
   *
   * @param needed whether an extent is of a file or of a writer; asked only for a block that is not
   *     there
   * @throws TensorFlowIgniteException FILE_CORRUPT: it is lost, or not what was written.
   *     FILE_CHANGED: the extent is not of any file any more.
   */
  public Block get(String extent, int number, Predicate<String> needed) {
    Block block = get(extent, number);
    if (block == null) {
      throw needed.test(extent) ? lost(extent, number) : gone(extent, number);
    }
    return block;
  }

  /** Removes blocks of an extent, those that are there, from number first to before number end. */
  public void remove(String extent, int first, int end) {
    IgniteCache<String, byte[]> cache = caches.blocks();
    for (int from = first; from < end; from += REMOVED_AT_ONCE) {
      // In order: two that remove the same blocks at once do not lock each other out.
      Set<String> keys = new TreeSet<>();
      for (int number = from; number < Math.min(end, from + REMOVED_AT_ONCE); number++) {
        keys.add(key(extent, number));
      }
      cache.removeAll(keys);
    }
  }

  /** A block that a file needs is not there, or is shorter than what was published of it. */
  public static TensorFlowIgniteException lost(String extent, int number) {
    return new TensorFlowIgniteException(
        ErrorCode.FILE_CORRUPT,
        String.format(
            "Block %d of extent %s is lost, and a file needs it. A block is kept on as many nodes"
                + " as the property storageBackups says, and one more; it is lost when all of them"
                + " leave at once. Write the file again, or copy it from where else it is;"
                + " `tensorflow-ignite fs check` finds what else is lost.",
            number, extent));
  }

  private static TensorFlowIgniteException gone(String extent, int number) {
    return new TensorFlowIgniteException(
        ErrorCode.FILE_CHANGED,
        String.format(
            "Block %d of extent %s is gone: no file has this extent any more. The file was replaced"
                + " or removed after it was opened, and its old content is freed at once. Open it"
                + " again.",
            number, extent));
  }

  private static TensorFlowIgniteException damaged(String extent, int number, int bytes) {
    return new TensorFlowIgniteException(
        ErrorCode.FILE_CORRUPT,
        String.format(
            "Block %d of extent %s is not what was written: %,d bytes that do not match their"
                + " checksum. The memory of a node was damaged, or another program has written to"
                + " the cache. Write the file again, or copy it from where else it is;"
                + " `tensorflow-ignite fs check` finds what else is damaged.",
            number, extent, bytes));
  }

  private static TensorFlowIgniteException away(String extent, int number, Throwable cause) {
    return new TensorFlowIgniteException(
        ErrorCode.FILE_CORRUPT,
        String.format(
            "Block %d of extent %s is out of reach: every node that holds it has left the cluster."
                + " Ignite refuses such a partition until it is reset. Start these nodes again, if"
                + " they keep data on disk, then reset the lost partitions of the cache"
                + " (control.sh --cache reset_lost_partitions); or write the file again.",
            number, extent),
        cause);
  }
}
