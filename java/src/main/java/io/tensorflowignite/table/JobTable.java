package io.tensorflowignite.table;

import com.google.common.util.concurrent.Uninterruptibles;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.Reservation;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.lang.ref.SoftReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterTopologyException;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.transactions.Transaction;

/** The rows of all jobs, on every node. */
public final class JobTable {
  /** More than nodes leave at once, each with the primary copy of the row. */
  private static final int ATTEMPTS = 5;

  private static final Duration PAUSE = Duration.ofMillis(50);

  private final MemoryReserve memory;
  private final Rows rows;
  private final FenceTable fences;

  /** The rows of the last {@link #all}: most are still the same at the next call. */
  private volatile SoftReference<Map<Object, JobRow>> last = new SoftReference<>(Map.of());

  public JobTable(Ignite ignite) {
    this.memory = MemoryReserve.of(ignite);
    this.rows = new Rows(ignite, SystemCache.JOBS);
    this.fences = new FenceTable(ignite);
  }

  /** A job; in state UNREADABLE, with the reason as its cause, if its row cannot be read. */
  public Optional<Job> get(String id) {
    return Optional.ofNullable(rows.get(id)).map(value -> new JobRow(id, value).job());
  }

  /** All jobs of this node's copy, in no order; those with unreadable rows as {@link #get}. */
  public List<Job> all() {
    Map<Object, JobRow> known = last.get();
    Map<Object, JobRow> all = new HashMap<>();
    rows.forEachLocal(
        (key, value) -> {
          JobRow row = known == null ? null : known.get(key);
          all.put(key, row != null && row.isOf(value) ? row : new JobRow(key, value));
        });
    last = new SoftReference<>(all);
    return all.values().stream().map(JobRow::job).collect(Collectors.toCollection(ArrayList::new));
  }

  /**
   * Writes a new job; false when the id exists.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for new jobs.
   */
  public boolean insert(Job job) {
    byte[] row = job.toByteArray();
    try (Reservation room =
        memory.reserve(Purpose.ENTRY, rows.cache(), job.getId(), row.length, "a new job")) {
      return rows.cache().putIfAbsent(job.getId(), row);
    }
  }

  /**
   * Changes one job in a transaction. The change may run more than once and must have no side
   * effects. A row that it returns unchanged is not written. Fields of a later version stay in the
   * row if the change is made by {@link Job#toBuilder}. Ignite rolls a transaction back when the
   * node with the primary copy leaves: then the change is made again.
   *
   * @return the job after the change; empty when there is no such job, or its row is unreadable.
   */
  public Optional<Job> update(String id, UnaryOperator<Job> change) {
    for (int attempt = 1; ; attempt++) {
      try {
        return updateOnce(id, change);
      } catch (RuntimeException e) {
        if (attempt == ATTEMPTS || !X.hasCause(e, ClusterTopologyException.class)) {
          throw e;
        }
      }
      Uninterruptibles.sleepUninterruptibly(PAUSE.multipliedBy(attempt));
    }
  }

  private Optional<Job> updateOnce(String id, UnaryOperator<Job> change) {
    try (Transaction tx = rows.begin()) {
      Job before = get(id).filter(JobTable::isReadable).orElse(null);
      if (before == null) {
        return Optional.empty();
      }
      Job after = change.apply(before);
      if (!after.equals(before)) {
        put(id, before.getSerializedSize(), after.toByteArray());
        FenceTable.of(after)
            .filter(fence -> !FenceTable.of(before).equals(Optional.of(fence)))
            .ifPresent(fences::put);
      }
      tx.commit();
      return Optional.of(after);
    }
  }

  /**
   * Writes the fences of unfinished jobs that are missing or wrong in this node's copy: nodes of an
   * earlier version write only the job's row.
   */
  public void correctFences(Collection<Job> jobs) {
    for (Job job : jobs) {
      if (isReadable(job) && !job.hasFinishedAt() && !fences.isOf(job)) {
        correctFence(job.getId());
      }
    }
  }

  private void correctFence(String id) {
    try (Transaction tx = rows.begin()) {
      get(id).filter(JobTable::isReadable).flatMap(FenceTable::of).ifPresent(fences::put);
      tx.commit();
    }
  }

  private static boolean isReadable(Job job) {
    return job.getState() != JobState.JOB_STATE_UNREADABLE;
  }

  /** A row that does not grow needs no memory, so that it can be written even in a full region. */
  private void put(String id, int bytesBefore, byte[] row) {
    if (row.length <= bytesBefore) {
      rows.cache().put(id, row);
    } else {
      rows.put(Purpose.DECISION, id, row, "the row of job " + id);
    }
  }

  /** Removes a row, readable or not, and the job's fence. */
  public void remove(String id) {
    boolean removed;
    try (Transaction tx = rows.begin()) {
      removed = rows.cache().remove(id);
      fences.remove(id);
      tx.commit();
    }
    if (!removed) {
      List<Object> keys = new ArrayList<>();
      rows.forEachLocal((key, value) -> keys.add(key));
      keys.stream().filter(key -> Rows.text(key).equals(id)).forEach(rows.cache()::remove);
    }
  }

  /** Calls the listener with the id of each job whose row was put or removed. */
  public LocalFeed listen(Consumer<String> listener) {
    return LocalFeed.open(rows.cache(), listener);
  }
}
