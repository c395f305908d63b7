package io.tensorflowignite.table;

import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/** The jobs that this node knows, from its copies of the tables: no call of another node. */
public final class JobIndex implements AutoCloseable {
  private final LocalCopy<JobRow> rows;
  private final LocalCopy<JobRow> finished;

  private JobIndex(LocalCopy<JobRow> rows, LocalCopy<JobRow> finished) {
    this.rows = rows;
    this.finished = finished;
  }

  /**
   * Opens the index.
   *
   * @param listener gets the id of each job whose row was put or removed, on Ignite's threads: it
   *     must return at once, use no cache, and tolerate lost events.
   */
  public static JobIndex open(Ignite ignite, Consumer<String> listener) {
    return new JobIndex(
        new LocalCopy<>(new Rows(ignite, SystemCache.JOBS), JobRow::new, listener),
        new LocalCopy<>(new Rows(ignite, SystemCache.FINISHED), JobRow::new, listener));
  }

  /**
   * The jobs that are not over, or about to be moved to the history, in no order; one with an
   * unreadable row is in state UNREADABLE.
   */
  public List<Job> current() {
    return rows.all().stream().map(row -> row.job).collect(Collectors.toCollection(ArrayList::new));
  }

  /** Whether there is any of {@link #current}. */
  public boolean hasCurrent() {
    return !rows.keys().isEmpty();
  }

  /** One of {@link #current}. */
  public Optional<Job> current(String id) {
    return rows.get(id).map(row -> row.job);
  }

  /** The summaries of jobs that are over, in no order. */
  public List<Job> finished() {
    return finished.all().stream()
        .map(row -> row.job)
        .collect(Collectors.toCollection(ArrayList::new));
  }

  /** {@link #current} and {@link #finished}; a job that moves just now may be twice in it. */
  public List<Job> all() {
    List<Job> all = current();
    all.addAll(finished());
    return all;
  }

  /** The jobs that are not over with tasks of their newest attempts on a node. */
  public List<Job> withTasksOn(String nodeId) {
    return rows.all().stream()
        .filter(row -> row.hasTasksOn(nodeId))
        .map(row -> row.job)
        .collect(Collectors.toList());
  }

  /** The number of tasks of the newest attempts of jobs that are not over, by id of a node. */
  public Map<String, Integer> tasksByNode() {
    Map<String, Integer> tasks = new HashMap<>();
    rows.all().forEach(row -> row.tasksByNode.forEach((id, n) -> tasks.merge(id, n, Integer::sum)));
    return tasks;
  }

  /** Compares all rows at the next call, since partitions have moved. */
  public void compare() {
    rows.compare();
    finished.compare();
  }

  @Override
  public void close() {
    rows.close();
    finished.close();
  }
}
