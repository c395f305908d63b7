package io.tensorflowignite.table;

import static org.apache.ignite.transactions.TransactionConcurrency.PESSIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.REPEATABLE_READ;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.ignite.LocalCopies;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionRollbackException;
import org.apache.ignite.transactions.TransactionTimeoutException;

/**
 * The rows of one system cache, each on its own. Every client of Ignite can write into the cache,
 * so a key or a value may be anything: a row that cannot be read concerns only itself.
 */
final class Rows {
  private static final long TRANSACTION_TIMEOUT_MS = 10_000;

  /** More than nodes leave at once, each with the primary copy of the row. */
  private static final int ATTEMPTS = 5;

  private static final Duration PAUSE = Duration.ofMillis(50);

  private final Ignite ignite;
  private final MemoryReserve memory;
  private final IgniteCache<Object, Object> cache;
  private final LocalCopies copies;

  /** Objects of classes that this node lacks stay serialized. */
  Rows(Ignite ignite, SystemCache systemCache) {
    this.ignite = ignite;
    this.memory = MemoryReserve.of(ignite);
    this.cache = systemCache.open(ignite).withKeepBinary();
    this.copies = new LocalCopies(cache);
  }

  IgniteCache<Object, Object> cache() {
    return cache;
  }

  /** Begins a transaction that changes one row: a row that it reads is locked until it ends. */
  Transaction begin() {
    return ignite.transactions().txStart(PESSIMISTIC, REPEATABLE_READ, TRANSACTION_TIMEOUT_MS, 1);
  }

  /**
   * Runs a transaction, and again if Ignite has rolled it back: when the node with the primary copy
   * leaves, or when the entry of a new row was removed from memory while it was being locked.
   *
   * @param transaction may run more than once
   */
  static <R> R repeated(Supplier<R> transaction) {
    for (int attempt = 1; ; attempt++) {
      try {
        return transaction.get();
      } catch (RuntimeException e) {
        boolean isRolledBack =
            Causes.has(e, ClusterTopologyException.class, TransactionRollbackException.class)
                && !Causes.has(e, TransactionTimeoutException.class);
        if (attempt == ATTEMPTS || !isRolledBack) {
          throw e;
        }
      }
      Uninterruptibles.sleepUninterruptibly(PAUSE.multipliedBy(attempt));
    }
  }

  /** The value of a key; null: there is none. */
  Object get(String key) {
    return cache.get(key);
  }

  /**
   * Puts a row where all its copies have room.
   *
   * @param what the row in errors: "a report"
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory.
   */
  void put(Purpose purpose, String key, byte[] row, String what) {
    memory.put(purpose, cache, key, row, what);
  }

  /** All keys and values of this node's copy of the cache, in no order. */
  void forEachLocal(BiConsumer<Object, Object> row) {
    if (cache.localSize(CachePeekMode.ALL) == 0) {
      // The entries of each partition would be opened: there are hundreds.
      return;
    }
    cache
        .localEntries(CachePeekMode.ALL)
        .forEach(entry -> row.accept(entry.getKey(), entry.getValue()));
  }

  /** All keys and values of the cache, of nodes that have complete copies, in no order. */
  void forEach(BiConsumer<Object, Object> row) {
    try (QueryCursor<Cache.Entry<Object, Object>> all = cache.query(new ScanQuery<>())) {
      all.forEach(entry -> row.accept(entry.getKey(), entry.getValue()));
    }
  }

  /**
   * Whether this node has a complete copy of every partition: not while they are copied to it, nor
   * outside of the baseline.
   */
  boolean areWhole() {
    return copies.areComplete();
  }

  /** The message of a value; empty: there is no value, or it is no such message. */
  static <M extends MessageLite> Optional<M> read(
      Parser<M> parser, Object value, Predicate<M> isOfItsKey) {
    if (!(value instanceof byte[])) {
      return Optional.empty();
    }
    try {
      return Optional.of(parser.parseFrom((byte[]) value)).filter(isOfItsKey);
    } catch (InvalidProtocolBufferException e) {
      return Optional.empty();
    }
  }

  /** A key of any type in texts. */
  static String text(Object key) {
    return String.valueOf(key);
  }
}
