package io.tensorflowignite.table;

import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.region.Reservation;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.ignite.Ignite;
import org.apache.ignite.transactions.Transaction;

/**
 * The rows of jobs, on every node: of jobs that are not over with their newest attempts, of jobs
 * that are over as summaries. {@link JobHistory} has the rest.
 */
public final class JobTable {
  private final MemoryReserve memory;
  private final Rows rows;
  private final Rows finished;
  private final JobHistory history;
  private final FenceTable fences;

  public JobTable(Ignite ignite) {
    this.memory = MemoryReserve.of(ignite);
    this.rows = new Rows(ignite, SystemCache.JOBS);
    this.finished = new Rows(ignite, SystemCache.FINISHED);
    this.history = new JobHistory(ignite);
    this.fences = new FenceTable(ignite);
  }

  /**
   * A job with its newest attempt; in state UNREADABLE, with the reason as its cause, if its row
   * cannot be read. If a job is over, and its row of the history is lost, this is its summary.
   */
  public Optional<Job> get(String id) {
    return row(id).or(() -> finished(id)).or(() -> whileItMoves(id));
  }

  /**
   * A job that is being moved to the history may be in neither table, or another node may read its
   * summary before its row of the history: the locks wait for the end of this transaction.
   */
  private Optional<Job> whileItMoves(String id) {
    try (Transaction tx = rows.begin()) {
      Optional<Job> moved = row(id).or(() -> finished(id)).or(() -> summary(id));
      tx.commit();
      return moved;
    }
  }

  /** A job that is not over, or is about to be moved to the history. */
  public Optional<Job> row(String id) {
    return Optional.ofNullable(rows.get(id)).map(value -> new JobRow(id, value).job);
  }

  /**
   * The jobs that are not over, or about to be moved to the history, from complete copies, in no
   * order. Parses all rows: {@link JobIndex} has them at hand.
   */
  public List<Job> current() {
    List<Job> jobs = new ArrayList<>();
    rows.forEach((key, value) -> jobs.add(new JobRow(key, value).job));
    return jobs;
  }

  /** Reads the row of one job, and parses it once after each change. For one thread. */
  public final class Reader {
    private final String id;
    private JobRow last;

    private Reader(String id) {
      this.id = id;
    }

    /** As {@link #row}. */
    public Optional<Job> read() {
      Object value = rows.get(id);
      last = value == null || (last != null && last.isOf(value)) ? last : new JobRow(id, value);
      return value == null ? Optional.empty() : Optional.of(last.job);
    }
  }

  public Reader reader(String id) {
    return new Reader(id);
  }

  private Optional<Job> finished(String id) {
    return finished.get(id) == null ? Optional.empty() : history.finished(id);
  }

  private Optional<Job> summary(String id) {
    return Optional.ofNullable(finished.get(id)).map(value -> new JobRow(id, value).job);
  }

  /**
   * Writes a new job; false when the id exists.
   *
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory for new jobs.
   */
  public boolean insert(Job job) {
    if (finished.get(job.getId()) != null) {
      return false;
    }
    byte[] row = withLayout(job).toByteArray();
    try (Reservation room =
        memory.reserve(Purpose.ENTRY, rows.cache(), job.getId(), row.length, "a new job")) {
      return rows.cache().putIfAbsent(job.getId(), row);
    }
  }

  /**
   * Changes one job in a transaction. The change may run more than once and must have no side
   * effects. A row that it returns unchanged is not written. Fields of a later version stay in the
   * row if the change is made by {@link Job#toBuilder}; so does the layout. Ignite rolls a
   * transaction back when the node with the primary copy leaves: then the change is made again.
   *
   * @return the job after the change; empty when there is no such job, or its row is unreadable.
   */
  public Optional<Job> update(String id, UnaryOperator<Job> change) {
    return Rows.repeated(
        () ->
            inTransaction(
                id,
                before -> {
                  Job after = change.apply(before);
                  return after.equals(before) ? before : write(before, after);
                }));
  }

  /**
   * Moves a job that is over to the history, after a last change of it.
   *
   * @return whether the job existed
   */
  public boolean finish(String id, UnaryOperator<Job> change) {
    return Rows.repeated(
            () ->
                inTransaction(
                    id,
                    before -> {
                      Job after = withLayout(history.store(change.apply(before)));
                      history.putFinished(after);
                      byte[] summary = JobSummary.of(after).toByteArray();
                      finished.put(Purpose.DECISION, id, summary, "the summary of a job");
                      rows.cache().remove(id);
                      fences.remove(id);
                      return after;
                    }))
        .isPresent();
  }

  private Optional<Job> inTransaction(String id, UnaryOperator<Job> change) {
    try (Transaction tx = rows.begin()) {
      Optional<Job> after = row(id).filter(JobTable::isReadable).map(change);
      tx.commit();
      return after;
    }
  }

  /** In a transaction; returns the job as it is stored. */
  private Job write(Job before, Job after) {
    Job stored = history.store(after);
    put(stored.getId(), before.getSerializedSize(), stored.toByteArray());
    FenceTable.of(stored)
        .filter(fence -> !FenceTable.of(before).equals(Optional.of(fence)))
        .ifPresent(fences::put);
    return stored;
  }

  private static Job withLayout(Job job) {
    return job.toBuilder().setLayout(JobLayout.CURRENT).build();
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

  /** Calls the listener with the id of each job whose row was put or removed. */
  public LocalFeed listen(Consumer<String> listener) {
    return LocalFeed.open(rows.cache(), key -> listener.accept(Rows.text(key)));
  }

  /** Removes a job with its attempts. */
  public void remove(Job job) {
    // First, so that the job cannot be moved to the history afterwards.
    remove(job.getId());
    history.remove(job);
  }

  /** Removes the rows of a job, also if they are unreadable, and the job's fence. */
  public void force(String id) {
    remove(id);
    history.removeAll(id);
  }

  private void remove(String id) {
    boolean removed;
    try (Transaction tx = rows.begin()) {
      removed = rows.cache().remove(id) | finished.cache().remove(id);
      fences.remove(id);
      tx.commit();
    }
    if (!removed) {
      for (Rows table : List.of(rows, finished)) {
        List<Object> keys = new ArrayList<>();
        table.forEachLocal((key, value) -> keys.add(key));
        keys.stream().filter(key -> Rows.text(key).equals(id)).forEach(table.cache()::remove);
      }
    }
  }
}
