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

  /** By moment of the row, and by id of an absent node with tasks. */
  private final Map<Object, Long> firstObserved = new HashMap<>();

  /**
   * @param monotonicNanos a monotonic clock in nanoseconds, like {@link System#nanoTime}.
   */
  public JobClock(LongSupplier monotonicNanos) {
    this.monotonicNanos = monotonicNanos;
  }

  /**
   * Begins to measure the time since each moment that is new in the row, and since a node with
   * tasks is absent. Stops the measurements that belong to earlier rows only.
   */
  void observe(Job job, Set<String> nodes) {
    Set<Object> current = new HashSet<>();
    current.add(job.getCreatedAt());
    current.add(job.getAdmittedAt());
    if (job.getAttemptsCount() > 0) {
      Attempt attempt = JobMachine.attempt(job);
      attempt.getTasksList().forEach(task -> current.add(task.getNodeId()));
      current.removeAll(nodes);
      current.add(attempt.getStartedAt());
      current.add(attempt.getRunningAt());
      current.add(attempt.getMovedAt());
      current.add(attempt.getEndingAt());
      current.add(attempt.getFinishedAt());
      current.add(attempt.getPlannedEnd().getRequestedAt());
    }
    firstObserved.keySet().retainAll(current);
    current.forEach(this::sinceFirst);
  }

  /** Measures the time since a moment anew from now on. */
  void restart(Timestamp moment) {
    firstObserved.put(moment, monotonicNanos.getAsLong());
  }

  /** The time since this service first observed that the node has left. */
  Duration sinceLeft(String node) {
    return sinceFirst(node);
  }

  /** The time since this service first observed the moment. */
  Duration since(Timestamp moment) {
    return sinceFirst(moment);
  }

  private Duration sinceFirst(Object observed) {
    long now = monotonicNanos.getAsLong();
    return Duration.ofNanos(now - firstObserved.computeIfAbsent(observed, ignored -> now));
  }
}
