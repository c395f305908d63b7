package io.tensorflowignite.table;

import io.tensorflowignite.v1.EpochRows;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.cache.expiry.Duration;
import javax.cache.expiry.ModifiedExpiryPolicy;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.transactions.Transaction;

/**
 * The rows of each worker in an epoch, on which the workers of an attempt agree before they read:
 * an entry of each epoch. It expires an hour after its last change, or a day if a worker has not
 * waited for the others: these may come late.
 */
public final class EpochTable {
  private static final Duration KEPT = new Duration(TimeUnit.HOURS, 1);
  private static final Duration KEPT_FOR_LATE_WORKERS = new Duration(TimeUnit.DAYS, 1);

  private final Rows rows;

  public EpochTable(Ignite ignite) {
    rows = new Rows(ignite, SystemCache.EPOCHS);
  }

  /**
   * Adds the rows of a worker.
   *
   * @param epoch identifies the epoch of a dataset in an attempt
   * @param worker the index of the worker
   * @param count the number of its rows
   * @param workers the number of workers
   * @param others rows of the workers that are still missing, by index; empty: they are awaited
   * @return the rows of all workers, the same for each caller; empty: some are missing
   */
  public Optional<List<Long>> add(
      String epoch, int worker, long count, int workers, List<Long> others) {
    EpochRows known = read(epoch);
    Optional<List<Long>> agreed = agreed(known, workers);
    // A worker that waits for others calls again and again.
    boolean adds = !known.containsRows(worker) || !others.isEmpty();
    return agreed.isPresent() || !adds
        ? agreed
        : Rows.repeated(() -> inTransaction(epoch, worker, count, workers, others));
  }

  private Optional<List<Long>> inTransaction(
      String epoch, int worker, long count, int workers, List<Long> others) {
    try (Transaction transaction = rows.begin()) {
      EpochRows known = read(epoch);
      EpochRows next = known;
      if (agreed(known, workers).isEmpty()) {
        EpochRows.Builder changed = known.toBuilder().putRows(worker, count);
        for (int other = 0; other < others.size(); other++) {
          if (!changed.containsRows(other)) {
            changed.putRows(other, others.get(other));
          }
        }
        next = changed.build();
      }
      if (!next.equals(known)) {
        IgniteCache<Object, Object> cache = rows.cache();
        cache
            .withExpiryPolicy(new ModifiedExpiryPolicy(kept(others)))
            .put(epoch, next.toByteArray());
      }
      transaction.commit();
      return agreed(next, workers);
    }
  }

  /** How long an entry is kept after a change that has set these rows of other workers. */
  static Duration kept(List<Long> others) {
    return others.isEmpty() ? KEPT : KEPT_FOR_LATE_WORKERS;
  }

  private EpochRows read(String epoch) {
    return Rows.read(EpochRows.parser(), rows.get(epoch), any -> true)
        .orElse(EpochRows.getDefaultInstance());
  }

  private static Optional<List<Long>> agreed(EpochRows known, int workers) {
    List<Long> counts = new ArrayList<>();
    for (int worker = 0; worker < workers; worker++) {
      if (!known.containsRows(worker)) {
        return Optional.empty();
      }
      counts.add(known.getRowsOrThrow(worker));
    }
    return Optional.of(counts);
  }
}
