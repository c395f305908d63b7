package io.tensorflowignite.agent;

import io.tensorflowignite.job.decide.DecidingPart;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import io.tensorflowignite.v1.WatchResponse;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Which statuses of tasks differ from the previous one only by progress. Nothing is decided by
 * progress, so it need not be processed at once.
 */
final class ProgressFilter {
  /** The deciding part of the newest status of each task. */
  private final Map<TaskKey, TaskStatus> newest = new ConcurrentHashMap<>();

  /** Whether the status of an event brings progress alone; the next one is compared with it. */
  boolean isAlone(WatchResponse event) {
    TaskStatus deciding = deciding(event.getStatus());
    return deciding.equals(newest.put(event.getKey(), deciding));
  }

  /** Forgets all other tasks. */
  void retain(Predicate<TaskKey> isKnown) {
    newest.keySet().removeIf(isKnown.negate());
  }

  /** A checkpoint is processed at once too, since a job may wait for it. */
  private static TaskStatus deciding(TaskStatus status) {
    TaskStatus.Builder part = DecidingPart.of(status).toBuilder();
    part.getProgressBuilder().setCheckpointStep(status.getProgress().getCheckpointStep());
    return part.build();
  }
}
