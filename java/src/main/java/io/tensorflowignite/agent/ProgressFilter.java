package io.tensorflowignite.agent;

import io.tensorflowignite.v1.Progress;
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

  /** Without the step, but with the fact that there is one, a checkpoint and a planned end. */
  private static TaskStatus deciding(TaskStatus status) {
    Progress progress = status.getProgress();
    return status.toBuilder()
        .clearLogDroppedBytes()
        .setProgress(
            Progress.newBuilder()
                .setEnd(progress.getEnd())
                .setCheckpointStep(progress.getCheckpointStep())
                .setStep(progress.getStep() > progress.getResumedFromStep() ? 1 : 0))
        .build();
  }
}
