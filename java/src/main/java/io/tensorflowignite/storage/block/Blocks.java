package io.tensorflowignite.storage.block;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CORRUPT;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_LOST;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.Reservation;
import io.tensorflowignite.storage.cache.MetadataTransactions;
import io.tensorflowignite.storage.cache.StorageCaches;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;

/**
 * The blocks of all extents, in their caches under {@code extent/number}. A small file has its only
 * block on every node: a directory of checkpoints depends on files of some 100 bytes. It is not in
 * the record of its directory, since each change of a directory rewrites such records. No key is in
 * both caches after a transaction.
 */
public final class Blocks {
  /**
   * The first block of an extent is on every node while it is not full and has at most this size.
   * Larger files, such as the data of a checkpoint, would use this memory on every node.
   */
  static final int SMALL_BYTES = 16 << 10;

  private static final int BLOCKS_PER_REMOVAL = 64;

  private final Ignite ignite;
  private final StorageCaches caches;
  private final MemoryReserve memory;

  public Blocks(Ignite ignite, StorageCaches caches) {
    this.ignite = ignite;
    this.caches = caches;
    this.memory = MemoryReserve.of(ignite);
  }

  static String key(String extent, int number) {
    return extent + "/" + number;
  }

  /**
   * Stores a full block, which never changes.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: only reserved memory is free.
   */
  public void put(String extent, int number, Block block) {
    try (Reservation room = reserve(extent, number, block, false)) {
      if (number == 0) {
        // It may have been published while it was small.
        replaceShorter(extent, number, block, false);
      } else {
        withOwners(
            extent,
            number,
            () -> {
              caches.blocks().put(key(extent, number), block.value());
              return null;
            });
      }
    }
  }

  /**
   * Stores a block that may still grow. A longer block that is already stored stays, so a put that
   * timed out and arrives after its repetition does no harm.
   */
  public void grow(String extent, int number, Block block) {
    boolean small = number == 0 && block.size() <= SMALL_BYTES;
    try (Reservation room = reserve(extent, number, block, small)) {
      replaceShorter(extent, number, block, small);
    }
  }

  private void replaceShorter(String extent, int number, Block block, boolean small) {
    String key = key(extent, number);
    transaction(
        extent,
        number,
        () -> {
          byte[] present = stored(key, number);
          if (present == null || present.length <= block.value().length) {
            if (number == 0 && !small) {
              caches.smallFiles().remove(key);
            }
            (small ? caches.smallFiles() : caches.blocks()).put(key, block.value());
          }
          return null;
        });
  }

  private <R> R transaction(String extent, int number, Supplier<R> body) {
    return withOwners(
        extent,
        number,
        () ->
            MetadataTransactions.repeatForBlocks(
                ignite,
                caches,
                "Storing or reading block " + number + " of extent " + extent,
                leftMs -> {
                  try (Transaction transaction =
                      ignite
                          .transactions()
                          .txStart(
                              TransactionConcurrency.PESSIMISTIC,
                              TransactionIsolation.REPEATABLE_READ,
                              leftMs,
                              2)) {
                    R result = body.get();
                    transaction.commit();
                    return result;
                  }
                }));
  }

  private byte[] stored(String key, int number) {
    byte[] small = number == 0 ? caches.smallFiles().get(key) : null;
    return small == null ? caches.blocks().get(key) : small;
  }

  private Reservation reserve(String extent, int number, Block block, boolean small) {
    return memory.reserve(
        Purpose.DATA,
        small ? caches.smallFiles() : caches.blocks(),
        key(extent, number),
        block.value().length,
        "a block");
  }

  /**
   * The block; null when the cache has none.
   *
   * @throws TensorFlowIgniteException FILE_CORRUPT: its checksum does not match. FILE_LOST: all
   *     nodes that hold it have left.
   */
  public Block get(String extent, int number) {
    String key = key(extent, number);
    byte[] value = withOwners(extent, number, () -> stored(key, number));
    if (value == null && number == 0) {
      // A block that moves between the caches is in neither of them for a moment.
      value = transaction(extent, number, () -> stored(key, number));
    }
    if (value == null) {
      return null;
    }
    Block block = Block.verified(value);
    if (block == null) {
      throw blockCorrupt(extent, number, value.length);
    }
    return block;
  }

  /**
   * The block, never null.
   *
   * @param needed whether an extent belongs to a file or a writer; called only for a missing block
   * @throws TensorFlowIgniteException FILE_LOST: all copies of the block are lost. FILE_CORRUPT:
   *     its checksum does not match. FILE_CHANGED: no file has the extent any more.
   */
  public Block get(String extent, int number, Predicate<String> needed) {
    Block block = get(extent, number);
    if (block == null) {
      throw needed.test(extent) ? blockLost(extent, number) : blockRemoved(extent, number);
    }
    return block;
  }

  private static <R> R withOwners(String extent, int number, Supplier<R> body) {
    try {
      return body.get();
    } catch (CacheException e) {
      if (Causes.isLoss(e)) {
        throw ownersLeft(extent, number, e);
      }
      throw e;
    }
  }

  /** Removes the blocks of an extent from number first (inclusive) to number end (exclusive). */
  public void remove(String extent, int first, int end) {
    IgniteCache<String, byte[]> cache = caches.blocks();
    if (first == 0 && end > 0) {
      caches.smallFiles().remove(key(extent, 0));
    }
    for (int from = first; from < end; from += BLOCKS_PER_REMOVAL) {
      // Sorted, so that two threads that remove the same blocks do not deadlock.
      Set<String> keys = new TreeSet<>();
      for (int number = from; number < Math.min(end, from + BLOCKS_PER_REMOVAL); number++) {
        keys.add(key(extent, number));
      }
      cache.removeAll(keys);
    }
  }

  /** A block that a file needs is missing, or shorter than its published length. */
  public static TensorFlowIgniteException blockLost(String extent, int number) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_LOST,
        "Block %d of extent %s is lost, and a file needs it. A block is stored on storage.backups +"
            + " 1 nodes, and is lost when all of them leave at once. Write the file again, copy it"
            + " from another store, or remove it; `tensorflow-ignite fs check` lists all lost"
            + " blocks.",
        number,
        extent);
  }

  private static TensorFlowIgniteException blockRemoved(String extent, int number) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_CHANGED,
        "Block %d of extent %s was removed: no file has this extent any more. The file was"
            + " replaced or removed after it was opened, and its old content is removed at"
            + " once. Open the file again.",
        number,
        extent);
  }

  private static TensorFlowIgniteException blockCorrupt(String extent, int number, int bytes) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_FILE_CORRUPT,
        "Block %d of extent %s is corrupt: its %,d bytes do not match their checksum. The"
            + " memory of a node was damaged, or another program has written to the cache."
            + " Write the file again, or copy it from another store; `tensorflow-ignite fs"
            + " check` lists all corrupt blocks.",
        number,
        extent,
        bytes);
  }

  private static TensorFlowIgniteException ownersLeft(String extent, int number, Throwable cause) {
    return new TensorFlowIgniteException(
        ERROR_CODE_FILE_LOST,
        String.format(
            "Block %d of extent %s can be neither read nor written: every node that holds its"
                + " partition has left the cluster. Ignite rejects such calls until it is reset. If"
                + " these nodes store data on disk, start them again and reset the lost partitions"
                + " of the cache (control.sh --cache reset_lost_partitions); otherwise write the"
                + " file again.",
            number, extent),
        cause);
  }
}
