package io.tensorflowignite.storage.cache;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_CHANGED;
import static org.apache.ignite.transactions.TransactionConcurrency.OPTIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.SERIALIZABLE;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.Reservation;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionOptimisticException;
import org.apache.ignite.transactions.TransactionRollbackException;
import org.apache.ignite.transactions.TransactionTimeoutException;

/**
 * Reads and changes the metadata. Each change is one serializable transaction: it commits only if
 * no record that it has read has changed meanwhile. Otherwise it runs again, after a random pause.
 */
public final class MetadataTransactions {
  /**
   * Longer than a cluster needs to remove a frozen node, which Ignite notices after 10 s; shorter
   * than the 30 s for which callers wait.
   */
  static final long DEADLINE_MS = 25_000;

  /** Of a new entry: its name, and its part of a directory's bucket. */
  private static final int ENTRY_BYTES = 4 << 10;

  private static final long FIRST_PAUSE_MS = 2;
  private static final long LONGEST_PAUSE_MS = 128;

  private final Ignite ignite;
  private final StorageCaches caches;
  private final MemoryReserve memory;
  private final Consumer<String> garbage;
  private final long deadlineMs;

  /**
   * @param garbage called with the id of each extent or directory that a committed change has made
   *     garbage
   */
  public MetadataTransactions(Ignite ignite, StorageCaches caches, Consumer<String> garbage) {
    this(ignite, caches, garbage, DEADLINE_MS);
  }

  MetadataTransactions(
      Ignite ignite, StorageCaches caches, Consumer<String> garbage, long deadlineMs) {
    this.ignite = ignite;
    this.caches = caches;
    this.memory = MemoryReserve.of(ignite);
    this.garbage = garbage;
    this.deadlineMs = deadlineMs;
  }

  /**
   * Runs a transaction, or reads a consistent state. The body may run more than once and must have
   * no other effects; an exception that it throws comes from a consistent state, too.
   *
   * @param operation its name in errors, with a capital letter
   */
  public <R> R run(String operation, Function<MetadataRecords, R> body) {
    return translate(
        operation,
        () -> repeat(operation, deadlineMs, this::observedCauses, left -> once(body, left)));
  }

  /**
   * Runs a transaction that adds entries to directories.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for new files.
   */
  public <R> R add(String operation, Function<MetadataRecords, R> body) {
    String key = MetadataRecords.stateKey(MetadataRecords.ROOT);
    try (Reservation room =
        memory.reserve(Purpose.ENTRY, caches.files(), key, ENTRY_BYTES, "an entry")) {
      return run(operation, body);
    }
  }

  /** Reads this node's copy without a transaction: the state may be inconsistent. */
  public <R> R read(String operation, Function<MetadataRecords, R> body) {
    return translate(operation, () -> body.apply(new MetadataRecords(caches.files())));
  }

  /**
   * Reads this node's copy, and confirms an error in a transaction: in the middle of a rename an
   * entry may be neither at its old path nor at its new one.
   */
  public <R> R find(String operation, Function<MetadataRecords, R> body) {
    try {
      return read(operation, body);
    } catch (TensorFlowIgniteException | ConcurrentChangeException e) {
      return run(operation, records -> body.apply(records));
    }
  }

  /** Reads this node's copy again and again until the body finds it consistent. */
  public <R> R readConsistent(String operation, Function<MetadataRecords, R> body) {
    return repeat(operation, deadlineMs, this::observedCauses, left -> read(operation, body));
  }

  /**
   * Runs an attempt again while nodes join or leave, or other changes interfere.
   *
   * @param attempt gets the milliseconds that are left
   */
  public static <R> R repeat(String operation, LongFunction<R> attempt) {
    return repeat(operation, DEADLINE_MS, () -> "", attempt);
  }

  /**
   * As {@link #repeat(String, LongFunction)}, for blocks.
   *
   * @throws TensorFlowIgniteException INTERNAL_ERROR: it has waited for a lock until the deadline.
   */
  public static <R> R repeatForBlocks(
      Ignite ignite, StorageCaches caches, String operation, LongFunction<R> attempt) {
    try {
      return repeat(operation, attempt);
    } catch (IgniteException e) {
      if (Causes.has(e, TransactionTimeoutException.class)) {
        throw CacheErrors.timedOut(operation, waits(ignite, caches.blocksName(), DEADLINE_MS), e);
      }
      throw e;
    }
  }

  private static <R> R repeat(
      String operation, long deadlineMs, Supplier<String> causes, LongFunction<R> attempt) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMs);
    for (long pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return attempt.apply(Math.max(1, left(deadline)));
      } catch (TransactionOptimisticException
          | TransactionRollbackException
          | ClusterTopologyException
          | ConcurrentChangeException e) {
        if (Causes.has(e, TransactionTimeoutException.class)) {
          throw e;
        }
        if (left(deadline) <= pause) {
          throw conflict(operation, deadlineMs, causes.get(), e);
        }
      } catch (RuntimeException e) {
        boolean retryable =
            Causes.has(e, ClusterTopologyException.class, TransactionRollbackException.class);
        if (!retryable || left(deadline) <= pause) {
          throw e;
        }
      }
      sleep(ThreadLocalRandom.current().nextLong(pause) + 1);
    }
  }

  private static long left(long deadline) {
    return TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
  }

  private <R> R once(Function<MetadataRecords, R> body, long timeoutMs) {
    MetadataRecords records = new MetadataRecords(caches.files());
    R result = null;
    TensorFlowIgniteException rejection = null;
    try (Transaction tx = ignite.transactions().txStart(OPTIMISTIC, SERIALIZABLE, timeoutMs, 0)) {
      try {
        result = body.apply(records);
        records.write();
      } catch (TensorFlowIgniteException e) {
        rejection = e;
      }
      tx.commit();
    }
    if (rejection != null) {
      throw rejection;
    }
    records.garbage().forEach(garbage);
    return result;
  }

  private String observedCauses() {
    return BlockingCauses.observed(ignite, caches.filesName());
  }

  private <R> R translate(String operation, Supplier<R> body) {
    return CacheErrors.translate(
        operation, () -> waits(ignite, caches.filesName(), deadlineMs), body);
  }

  private static String waits(Ignite ignite, String cacheName, long deadlineMs) {
    return String.format(
        "the cluster did not commit the change within %d s. %s",
        deadlineMs / 1000, BlockingCauses.describe(ignite, cacheName));
  }

  private static TensorFlowIgniteException conflict(
      String operation, long deadlineMs, String causes, RuntimeException cause) {
    boolean moved = Causes.has(cause, ClusterTopologyException.class);
    boolean rolledBack = cause instanceof TransactionRollbackException;
    String reason =
        moved
            ? "nodes joined or left in each attempt"
            : rolledBack
                ? "Ignite rolled it back: " + MessageText.reason(cause)
                : "other callers changed or locked the same files during each attempt";
    return new TensorFlowIgniteException(
        ERROR_CODE_FILE_CHANGED,
        String.format(
            "%s did not succeed: %s. %sA change is retried for %d s. Try again.",
            operation, reason, causes.isEmpty() ? "" : causes + ". ", deadlineMs / 1000),
        cause);
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IgniteInterruptedException("Interrupted between two attempts of a change");
    }
  }
}
