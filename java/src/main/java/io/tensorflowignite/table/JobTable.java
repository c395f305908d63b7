package io.tensorflowignite.table;

import static org.apache.ignite.transactions.TransactionConcurrency.PESSIMISTIC;
import static org.apache.ignite.transactions.TransactionIsolation.REPEATABLE_READ;

import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.transactions.Transaction;

/** The truth about every job, on every node. */
public final class JobTable {
  private static final long TRANSACTION_TIMEOUT_MS = 10_000;

  private final Ignite ignite;
  private final IgniteCache<String, byte[]> cache;

  public JobTable(Ignite ignite) {
    this.ignite = ignite;
    this.cache = SystemCache.JOBS.open(ignite);
  }

  public Optional<Job> get(String id) {
    return Optional.ofNullable(parse(cache.get(id)));
  }

  /** Every job, in no order, as this node's copy of the table has it. */
  public List<Job> all() {
    List<Job> jobs = new ArrayList<>();
    for (Cache.Entry<String, byte[]> entry : cache.localEntries(CachePeekMode.ALL)) {
      jobs.add(parse(entry.getValue()));
    }
    return jobs;
  }

  /** Writes a new job; false when the id is taken. */
  public boolean insert(Job job) {
    return cache.putIfAbsent(job.getId(), job.toByteArray());
  }

  /**
   * Changes one job in a transaction. The change may run more than once and must have no side
   * effects; what it returns unchanged is not written.
   *
   * @return the job after the change; empty when there is no such job.
   */
  public Optional<Job> update(String id, UnaryOperator<Job> change) {
    try (Transaction tx =
        ignite.transactions().txStart(PESSIMISTIC, REPEATABLE_READ, TRANSACTION_TIMEOUT_MS, 1)) {
      Job before = parse(cache.get(id));
      if (before == null) {
        return Optional.empty();
      }
      Job after = change.apply(before);
      if (!after.equals(before)) {
        cache.put(id, after.toByteArray());
      }
      tx.commit();
      return Optional.of(after);
    }
  }

  public void remove(String id) {
    cache.remove(id);
  }

  public LocalFeed listen(BiConsumer<String, Job> listener) {
    return LocalFeed.open(cache, SystemCache.JOBS, Job.parser(), listener);
  }

  private static Job parse(byte[] bytes) {
    return Messages.parse(Job.parser(), bytes, SystemCache.JOBS);
  }
}
