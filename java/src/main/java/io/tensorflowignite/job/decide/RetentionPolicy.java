package io.tensorflowignite.job.decide;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** When jobs in a final state may be removed, and code archives that no job uses. */
public final class RetentionPolicy {
  /**
   * Code is uploaded before its job is submitted: an archive is kept for this time after the
   * upload.
   */
  private static final Duration LONGEST_SUBMISSION = Duration.ofHours(1);

  private final Duration retention;

  /**
   * @param retention how long a job is retained after its end; zero: until a user removes it.
   */
  public RetentionPolicy(Duration retention) {
    this.retention = retention;
  }

  /**
   * The interval of the search for jobs to remove: a tenth of the retention, at most {@code
   * longest}.
   */
  public Duration interval(Duration longest) {
    Duration tenth = retention.dividedBy(10);
    return retention.isZero() || tenth.compareTo(longest) > 0 ? longest : tenth;
  }

  /** The time at which a job is removed; empty before its end, and when no job is removed. */
  Optional<Timestamp> keptUntil(Job job) {
    return JobMachine.isFinal(job) && job.hasFinishedAt() && !retention.isZero()
        ? Optional.of(
            Timestamps.add(job.getFinishedAt(), Durations.fromMillis(retention.toMillis())))
        : Optional.empty();
  }

  /** The job with the time of its removal, for clients. */
  public Job withExpiry(Job job) {
    return keptUntil(job).map(moment -> job.toBuilder().setKeptUntil(moment).build()).orElse(job);
  }

  /** The jobs to remove now: their retention has ended, and no other job needs their files. */
  public List<Job> due(Collection<Job> jobs, Timestamp now) {
    return jobs.stream()
        .filter(
            job ->
                keptUntil(job).filter(until -> Timestamps.compare(until, now) <= 0).isPresent()
                    && jobs.stream().noneMatch(other -> uses(other, job)))
        .collect(Collectors.toList());
  }

  /** An unfinished job whose checkpoints are among the files of this job. */
  public static Optional<Job> userOf(Job job, Collection<Job> jobs) {
    return jobs.stream()
        .filter(other -> !JobMachine.isFinal(other) && uses(other, job))
        .findFirst();
  }

  /** Whether an archive can be removed: no job uses it, and none can be about to be submitted. */
  public boolean isUnused(String digest, Timestamp uploadedAt, Set<String> used, Timestamp now) {
    Duration grace =
        retention.isZero() || retention.compareTo(LONGEST_SUBMISSION) > 0
            ? LONGEST_SUBMISSION
            : retention;
    Timestamp end = Timestamps.add(uploadedAt, Durations.fromMillis(grace.toMillis()));
    return !used.contains(digest) && Timestamps.compare(end, now) <= 0;
  }

  private static boolean uses(Job other, Job job) {
    return !other.getId().equals(job.getId())
        && JobPaths.isIn(other.getSpec().getCheckpointDirectory(), job.getId());
  }
}
