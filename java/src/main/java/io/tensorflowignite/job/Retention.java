package io.tensorflowignite.job;

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

/**
 * When jobs that are over may go, and code with them. Only jobs that are over: those that run are
 * not asked about their age.
 */
public final class Retention {
  /**
   * Code is there before the job that names it: an archive is left alone for so long after it came.
   */
  private static final Duration LONGEST_SUBMISSION = Duration.ofHours(1);

  private final Duration kept;

  /**
   * @param kept how long a job stays after its end; zero: until somebody removes it.
   */
  public Retention(Duration kept) {
    this.kept = kept;
  }

  /** The moment after which a job is removed; empty while it is not over, or when it stays. */
  Optional<Timestamp> keptUntil(Job job) {
    return JobMachine.isOver(job) && job.hasFinishedAt() && !kept.isZero()
        ? Optional.of(Timestamps.add(job.getFinishedAt(), Durations.fromMillis(kept.toMillis())))
        : Optional.empty();
  }

  /** The job as it is told to clients. */
  public Job told(Job job) {
    return keptUntil(job).map(moment -> job.toBuilder().setKeptUntil(moment).build()).orElse(job);
  }

  /** The jobs to remove now: their time has passed, and no other job needs their files. */
  List<Job> due(Collection<Job> jobs, Timestamp now) {
    return jobs.stream()
        .filter(
            job ->
                keptUntil(job).filter(until -> Timestamps.compare(until, now) <= 0).isPresent()
                    && !jobs.stream().anyMatch(other -> uses(other, job)))
        .collect(Collectors.toList());
  }

  /** A job that is not over and keeps its checkpoints among the files of another. */
  public static Optional<Job> userOf(Job job, Collection<Job> jobs) {
    return jobs.stream().filter(other -> !JobMachine.isOver(other) && uses(other, job)).findFirst();
  }

  /** Whether an archive of code can go: no job names it, and none is being submitted with it. */
  boolean isUnneeded(String digest, Timestamp cameAt, Set<String> named, Timestamp now) {
    Duration grace =
        kept.isZero() || kept.compareTo(LONGEST_SUBMISSION) > 0 ? LONGEST_SUBMISSION : kept;
    Timestamp end = Timestamps.add(cameAt, Durations.fromMillis(grace.toMillis()));
    return !named.contains(digest) && Timestamps.compare(end, now) <= 0;
  }

  private static boolean uses(Job other, Job job) {
    return !other.getId().equals(job.getId())
        && JobFiles.isIn(other.getSpec().getCheckpointDirectory(), job.getId());
  }
}
