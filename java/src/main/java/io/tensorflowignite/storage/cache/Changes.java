package io.tensorflowignite.storage.cache;

import static org.apache.ignite.transactions.TransactionConcurrency.OPTIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.SERIALIZABLE;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionOptimisticException;
import org.apache.ignite.transactions.TransactionRollbackException;

/**
 * Changes the metadata: each change is one transaction that takes effect only when nothing that it
 * has read has changed meanwhile. Otherwise it is made again, after a random pause.
 */
public final class Changes {
  /**
   * Within it a cluster settles that loses a frozen node, which takes Ignite 10 s to notice;
   * callers wait for 30 s.
   */
  static final long DEADLINE_MS = 25_000;

  private static final long FIRST_PAUSE_MS = 2;
  private static final long LONGEST_PAUSE_MS = 128;

  private final Ignite ignite;
  private final StorageCaches caches;
  private final Consumer<String> garbage;

  /** What changes make garbage is told when they have taken effect. */
  public Changes(Ignite ignite, StorageCaches caches, Consumer<String> garbage) {
    this.ignite = ignite;
    this.caches = caches;
    this.garbage = garbage;
  }

  /**
   * Makes a change, or finds out what is so at one moment. The body may run more than once and must
   * have no other effects; what it throws holds at that moment, too.
   *
   * @param what names the change in errors.
   */
  public <R> R make(String what, Function<Change, R> body) {
    return CacheErrors.told(what, () -> repeat(what, left -> once(body, left)));
  }

  /** What this node's copy has, at no single moment: a change may be taking effect just now. */
  public <R> R look(String what, Function<Records, R> body) {
    return CacheErrors.told(what, () -> body.apply(new Records(caches.files())));
  }

  /**
   * Looks, and believes what is found; that something is not found is found out in a transaction,
   * since in the middle of a change it may be neither at its old place nor at its new one.
   */
  public <R> R find(String what, Function<Records, R> body) {
    try {
      return look(what, body);
    } catch (TensorFlowIgniteException | UnsettledException e) {
      return make(what, change -> body.apply(change.records()));
    }
  }

  /** Looks until the records fit together. */
  public <R> R settle(String what, Function<Records, R> body) {
    return repeat(what, left -> look(what, body));
  }

  static <R> R repeat(String what, LongFunction<R> attempt) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(DEADLINE_MS);
    for (long pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      try {
        return attempt.apply(Math.max(1, left));
      } catch (TransactionOptimisticException
          | TransactionRollbackException
          | ClusterTopologyException
          | UnsettledException e) {
        if (left <= pause) {
          throw conflict(what, e);
        }
      } catch (RuntimeException e) {
        boolean unsettled =
            X.hasCause(e, ClusterTopologyException.class, TransactionRollbackException.class);
        if (!unsettled || left <= pause) {
          throw e;
        }
      }
      sleep(ThreadLocalRandom.current().nextLong(pause) + 1);
    }
  }

  private <R> R once(Function<Change, R> body, long timeoutMs) {
    IgniteCache<String, byte[]> files = caches.files();
    Change change = new Change(new Records(files));
    R result = null;
    TensorFlowIgniteException refusal = null;
    try (Transaction tx = ignite.transactions().txStart(OPTIMISTIC, SERIALIZABLE, timeoutMs, 0)) {
      try {
        result = body.apply(change);
        change.records().write();
      } catch (TensorFlowIgniteException e) {
        refusal = e;
      }
      tx.commit();
    }
    if (refusal != null) {
      throw refusal;
    }
    change.garbage().forEach(garbage);
    return result;
  }

  private static TensorFlowIgniteException conflict(String what, RuntimeException cause) {
    return new TensorFlowIgniteException(
        ErrorCode.FILE_CHANGED,
        String.format(
            "%s did not succeed: others kept changing the same files, or the cluster did not"
                + " settle (%s). A change is tried again for %d s. Try it again.",
            what, cause.getMessage(), DEADLINE_MS / 1000),
        cause);
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IgniteInterruptedException("Interrupted between two tries of a change");
    }
  }
}
