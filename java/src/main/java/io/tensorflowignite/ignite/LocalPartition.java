package io.tensorflowignite.ignite;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;
import javax.cache.Cache;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.CacheEntryImpl;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtLocalPartition;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtPartitionState;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.util.lang.GridCloseableIterator;

/**
 * A partition on this node, which keeps its rows while this is open, even if it moves. Rows are
 * read one at a time; Ignite's own scans hold all rows of an index page in the heap.
 */
public final class LocalPartition implements AutoCloseable {
  /** Size of an entry in a page of the index: a row's address and the hash of its key. */
  private static final int ITEM_BYTES = 12;

  /** Of a stored value: its length and its type. */
  private static final int HEADER_BYTES = 5;

  private final GridCacheContext<?, ?> context;
  private final GridDhtLocalPartition partition;

  private LocalPartition(GridCacheContext<?, ?> context, GridDhtLocalPartition partition) {
    this.context = context;
    this.partition = partition;
  }

  /** Throws IgniteException if this node has no complete copy of the partition. */
  public static LocalPartition reserve(IgniteCache<Object, Object> cache, int number) {
    GridCacheContext<?, ?> context = ((IgniteCacheProxy<?, ?>) cache).context();
    GridDhtLocalPartition found =
        context.topology().localPartition(number, AffinityTopologyVersion.NONE, false);
    if (found != null && found.reserve()) {
      if (found.state() == GridDhtPartitionState.OWNING) {
        return new LocalPartition(context, found);
      }
      found.release();
    }
    throw new IgniteException(
        "Partition " + number + " of cache " + cache.getName() + " is not on this node");
  }

  /** Number of rows. */
  public long size() {
    return partition.dataStore().cacheSize(context.cacheId());
  }

  /** Most rows of a page of the index. */
  public int pageRows() {
    return context.shared().database().pageSize() / ITEM_BYTES;
  }

  /**
   * Rows in binary form, in the order of the index. A row that is removed meanwhile may be left
   * out.
   */
  public Iterator<Cache.Entry<Object, Object>> rows() {
    return new Rows<>(this::entry);
  }

  /** The present row of a key, in binary form; null: there is none. */
  public Cache.Entry<Object, Object> row(Object key) {
    try {
      CacheDataRow row = read(context.toCacheKeyObject(key));
      return row == null ? null : entry(row);
    } catch (IgniteCheckedException e) {
      throw new IgniteException(e);
    }
  }

  private Cache.Entry<Object, Object> entry(CacheDataRow row) {
    return new CacheEntryImpl<>(
        context.unwrapBinaryIfNeeded(row.key(), true, false, null),
        context.unwrapBinaryIfNeeded(row.value(), true, false, null));
  }

  /** The sizes of the values of all rows, in bytes. */
  public Iterator<Integer> sizes() {
    return new Rows<>(
        row -> {
          try {
            return row.value().valueBytes(context.cacheObjectContext()).length + HEADER_BYTES;
          } catch (IgniteCheckedException e) {
            throw new IgniteException(e);
          }
        });
  }

  @Override
  public void close() {
    partition.release();
  }

  private CacheDataRow read(KeyCacheObject key) throws IgniteCheckedException {
    context.shared().database().checkpointReadLock();
    try {
      CacheDataRow row = context.offheap().read(context, key);
      boolean isExpired =
          row != null && row.expireTime() > 0 && row.expireTime() <= System.currentTimeMillis();
      return isExpired ? null : row;
    } finally {
      context.shared().database().checkpointReadUnlock();
    }
  }

  private final class Rows<T> implements Iterator<T> {
    private final Function<CacheDataRow, T> result;
    private final GridCloseableIterator<KeyCacheObject> keys;
    private CacheDataRow next;

    Rows(Function<CacheDataRow, T> result) {
      this.result = result;
      try {
        keys = context.offheap().cacheKeysIterator(context.cacheId(), partition.id());
      } catch (IgniteCheckedException e) {
        throw new IgniteException(e);
      }
    }

    @Override
    public boolean hasNext() {
      try {
        while (next == null && keys.hasNextX()) {
          next = read(keys.nextX());
        }
        return next != null;
      } catch (IgniteCheckedException e) {
        throw new IgniteException(e);
      }
    }

    @Override
    public T next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      T row = result.apply(next);
      next = null;
      return row;
    }
  }
}
