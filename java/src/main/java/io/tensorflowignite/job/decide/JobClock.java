package io.tensorflowignite.job.decide;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Measures the time that has passed since the moments of a job's row. The clocks of nodes differ,
 * and a clock may be set while a job runs: so the time counts from the first observation of a
 * moment by this service, on a monotonic clock, and the moment itself is for people only. When
 * another node takes the service over, its times begin anew.
 */
public final class JobClock {
  private final LongSupplier monotonicNanos;
  private final Map<Timestamp, Long> firstObserved = new HashMap<>();
  private final Map<String, Long> leftAt = new HashMap<>();

  /**
   * @param monotonicNanos a monotonic clock in nanoseconds, like {@link System#nanoTime}.
   */
  public JobClock(LongSupplier monotonicNanos) {
    this.monotonicNanos = monotonicNanos;
  }

  /**
   * Begins to measure the moments that are new in the row, and the absence of nodes with tasks;
   * forgets those of earlier rows.
   */
  void observe(Job job, Set<String> nodes) {
    Set<Timestamp> moments = new HashSet<>();
    Set<String> absent = new HashSet<>();
    moments.add(job.getCreatedAt());
    if (job.getAttemptsCount() > 0) {
      JobMachine.attempt(job).getTasksList().forEach(task -> absent.add(task.getNodeId()));
      absent.removeAll(nodes);
      Attempt attempt = JobMachine.attempt(job);
      moments.add(attempt.getStartedAt());
      moments.add(attempt.getRunningAt());
      moments.add(attempt.getMovedAt());
      moments.add(attempt.getEndingAt());
    }
    firstObserved.keySet().retainAll(moments);
    moments.forEach(this::since);
    leftAt.keySet().retainAll(absent);
    absent.forEach(this::sinceLeft);
  }

  /** The time since this service first observed that the node has left. */
  Duration sinceLeft(String node) {
    long now = monotonicNanos.getAsLong();
    return Duration.ofNanos(now - leftAt.computeIfAbsent(node, ignored -> now));
  }

  /** The time since this service first observed the moment. */
  Duration since(Timestamp moment) {
    long now = monotonicNanos.getAsLong();
    return Duration.ofNanos(now - firstObserved.computeIfAbsent(moment, ignored -> now));
  }
}
