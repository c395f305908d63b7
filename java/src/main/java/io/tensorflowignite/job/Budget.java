package io.tensorflowignite.job;

import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Optional;
import java.util.regex.Pattern;

/** How often a job may crash, how long it pauses after that, and when going on is pointless. */
final class Budget {
  private static final int DEFAULT_MAX_CRASHES = 3;
  private static final long FIRST_PAUSE_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 30_000;
  private static final int EARLY_FAILURES = 2;

  /** What Python says when the script, or something that it imports, cannot be loaded. */
  private static final Pattern IMPORT_ERROR =
      Pattern.compile(
          "\\b(ImportError|ModuleNotFoundError|SyntaxError|IndentationError|TabError)\\b");

  private Budget() {}

  static int maxCrashes(JobSpec spec) {
    return spec.hasMaxCrashes() ? spec.getMaxCrashes() : DEFAULT_MAX_CRASHES;
  }

  /** 1 s after the first crash, twice as long after each further one, at most 30 s. */
  static long backOffMs(int crashes) {
    int doublings = Math.min(Math.max(crashes - 1, 0), 10);
    return Math.min(FIRST_PAUSE_MS << doublings, LONGEST_PAUSE_MS);
  }

  /** The script could not be imported: no step was done. */
  static boolean isEarlyFailure(Task task) {
    TaskStatus status = task.getStatus();
    return status.getProgress().getStep() == 0 && IMPORT_ERROR.matcher(status.getError()).find();
  }

  /** Whether the task may be started again beside the others. */
  static boolean allowsReplacement(Job job, Task failed) {
    boolean early = isEarlyFailure(failed) && job.getEarlyFailures() + 1 >= EARLY_FAILURES;
    return !failed.getStatus().getHopeless()
        && !early
        && job.getCrashes() < maxCrashes(job.getSpec());
  }

  /** Why a job whose attempt has crashed gets no further one; empty when it does. */
  static Optional<String> exhausted(Job job) {
    Optional<Task> hopeless =
        JobMachine.attempt(job).getTasksList().stream()
            .filter(task -> task.getStatus().getHopeless())
            .findFirst();
    String last = "; last: " + JobMachine.attempt(job).getCause();
    if (hopeless.isPresent()) {
      return Optional.of(
          text(job, "no further attempt could change this: " + JobMachine.attempt(job).getCause()));
    }
    if (job.getEarlyFailures() >= EARLY_FAILURES) {
      return Optional.of(
          text(
              job,
              "its script failed to load "
                  + job.getEarlyFailures()
                  + " times in a row before the first step"
                  + last));
    }
    if (job.getCrashes() > maxCrashes(job.getSpec())) {
      return Optional.of(
          text(
              job,
              job.getCrashes()
                  + " crashes exceed max_crashes="
                  + maxCrashes(job.getSpec())
                  + last));
    }
    return Optional.empty();
  }

  private static String text(Job job, String why) {
    return String.format(
        "job %s was not restarted: %s. See: tensorflow-ignite logs %s --attempt %d",
        job.getId(), why, job.getId(), job.getAttemptsCount());
  }
}
