package io.tensorflowignite.table;

import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.EndedAttempt;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/**
 * What does not change any more: attempts that are over, with the events of their time, and jobs
 * that are over. Each row is on three nodes. If all three are lost at once, so is the row; no
 * decision depends on it.
 */
public final class JobHistory {
  private static final int ROWS_PER_READ = 16;

  private final Rows rows;

  public JobHistory(Ignite ignite) {
    this.rows = new Rows(ignite, SystemCache.HISTORY);
  }

  /**
   * Stores all attempts but the newest, in the transaction that changes the job's row.
   *
   * @return the job with the newest attempt alone, and the events since its begin
   */
  Job store(Job job) {
    if (job.getAttemptsCount() < 2) {
      return job;
    }
    int first = job.getAttempts(0).getNumber();
    for (Attempt attempt : job.getAttemptsList().subList(0, job.getAttemptsCount() - 1)) {
      int number = attempt.getNumber();
      EndedAttempt row =
          EndedAttempt.newBuilder()
              .setJobId(job.getId())
              .setAttempt(attempt)
              .addAllEvents(events(job, of -> of == number || (number == first && of < number)))
              .build();
      rows.put(Purpose.DECISION, key(job.getId(), number), row.toByteArray(), "an attempt");
    }
    return withNewestAttempt(job);
  }

  /** The job with the newest attempt alone, and the events since its begin: its row. */
  public static Job withNewestAttempt(Job job) {
    if (job.getAttemptsCount() < 2) {
      return job;
    }
    Attempt newest = job.getAttempts(job.getAttemptsCount() - 1);
    return job.toBuilder()
        .clearAttempts()
        .addAttempts(newest)
        .clearEvents()
        .addAllEvents(events(job, of -> of >= newest.getNumber()))
        .build();
  }

  private static List<Event> events(Job job, Predicate<Integer> ofAttempt) {
    return job.getEventsList().stream()
        .filter(event -> ofAttempt.test(event.getAttempt()))
        .collect(Collectors.toList());
  }

  /** Stores a job that is over, in the transaction that removes its row. */
  void putFinished(Job job) {
    rows.put(Purpose.DECISION, job.getId(), job.toByteArray(), "a finished job");
  }

  /** A job that is over; empty: there is none, or its row is lost. */
  Optional<Job> finished(String id) {
    return Optional.ofNullable(rows.get(id)).map(value -> new JobRow(id, value).job);
  }

  /**
   * The newest attempts of a job before the attempts in its row, oldest first.
   *
   * @param bytes no further attempt is read when the attempts that were read have this size
   * @param count largest number of attempts
   */
  public List<EndedAttempt> before(Job job, long bytes, int count) {
    List<EndedAttempt> newestFirst = new ArrayList<>();
    int first = job.getAttemptsCount() == 0 ? 1 : job.getAttempts(0).getNumber();
    int last = Math.max(1, first - count);
    long read = 0;
    for (int end = first; end > last && read < bytes; end -= ROWS_PER_READ) {
      Set<Object> keys = new LinkedHashSet<>();
      for (int number = end - 1; number >= Math.max(last, end - ROWS_PER_READ); number--) {
        keys.add(key(job.getId(), number));
      }
      Map<Object, Object> found = rows.cache().getAll(keys);
      for (Object key : keys) {
        Optional<EndedAttempt> row =
            Rows.read(
                EndedAttempt.parser(),
                found.get(key),
                attempt -> key(attempt.getJobId(), attempt.getAttempt().getNumber()).equals(key));
        if (row.isPresent() && read < bytes) {
          newestFirst.add(row.get());
          read += row.get().getSerializedSize();
        }
      }
    }
    Collections.reverse(newestFirst);
    return newestFirst;
  }

  /** All attempts of a job whose rows are not lost, oldest first. */
  public List<Attempt> attempts(Job job) {
    List<Attempt> attempts = since(job, 1);
    if (job.getAttemptsCount() > 0) {
      attempts.add(job.getAttempts(job.getAttemptsCount() - 1));
    }
    return attempts;
  }

  /** The attempts of a job before its newest one, from a number on, oldest first. */
  public List<Attempt> since(Job job, int number) {
    int first = job.getAttemptsCount() == 0 ? 1 : job.getAttempts(0).getNumber();
    List<Attempt> attempts =
        before(job, Long.MAX_VALUE, Math.max(0, first - number)).stream()
            .map(EndedAttempt::getAttempt)
            .collect(Collectors.toCollection(ArrayList::new));
    job.getAttemptsList().stream()
        .limit(Math.max(0, job.getAttemptsCount() - 1))
        .filter(attempt -> attempt.getNumber() >= number)
        .forEach(attempts::add);
    return attempts;
  }

  /** Removes a job and its attempts. */
  void remove(Job job) {
    int newest =
        job.getAttemptsCount() == 0 ? 0 : job.getAttempts(job.getAttemptsCount() - 1).getNumber();
    for (int number = 1; number < newest; number++) {
      rows.cache().remove(key(job.getId(), number));
    }
    rows.cache().remove(job.getId());
  }

  /** Removes all rows of a job whose attempts are not known; this reads the whole table. */
  void removeAll(String jobId) {
    try (QueryCursor<Cache.Entry<Object, Object>> entries = rows.cache().query(new ScanQuery<>())) {
      for (Cache.Entry<Object, Object> entry : entries) {
        String key = Rows.text(entry.getKey());
        if (key.equals(jobId) || key.startsWith(jobId + "/")) {
          rows.cache().remove(entry.getKey());
        }
      }
    }
  }

  private static String key(String jobId, int attempt) {
    return jobId + "/" + attempt;
  }
}
