package io.tensorflowignite.job.decide;

import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import java.util.Optional;
import java.util.regex.Pattern;

/** The limit of a job's crashes, the back-off after each, and failures that a retry cannot help. */
final class CrashBudget {
  private static final int DEFAULT_MAX_CRASHES = 3;
  private static final long FIRST_PAUSE_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 30_000;
  private static final int EARLY_FAILURES = 2;

  /** Errors of Python when the script, or a module that it imports, cannot be loaded. */
  private static final Pattern IMPORT_ERROR =
      Pattern.compile(
          "\\b(ImportError|ModuleNotFoundError|SyntaxError|IndentationError|TabError)\\b");

  /**
   * Errors of Python when a task has read data whose copies are all lost; TensorFlow gives the text
   * of a lost block a class of its own.
   */
  private static final Pattern DATA_LOSS =
      Pattern.compile(
          "\\btensorflow_ignite\\.errors\\.(DataLossError|FileLostError)\\b"
              + "|\\bof extent [0-9a-f]{32} is lost\\b");

  private CrashBudget() {}

  static int maxCrashes(JobSpec spec) {
    return spec.hasMaxCrashes() ? spec.getMaxCrashes() : DEFAULT_MAX_CRASHES;
  }

  /** 1 s after the first crash, twice as long after each further one, at most 30 s. */
  static long backOffMs(int crashes) {
    int doublings = Math.min(Math.max(crashes - 1, 0), 10);
    return Math.min(FIRST_PAUSE_MS << doublings, LONGEST_PAUSE_MS);
  }

  /** Whether the script could not be imported, so that no step was done. */
  static boolean isEarlyFailure(Task task) {
    TaskStatus status = task.getStatus();
    return status.getProgress().getStep() == 0 && IMPORT_ERROR.matcher(status.getError()).find();
  }

  /** Whether the task failed because data are lost, which is no fault of the script. */
  static boolean isDataLoss(Task task) {
    return DATA_LOSS.matcher(task.getStatus().getError()).find();
  }

  /** Whether the failed task may be started again while the other tasks continue. */
  static boolean allowsReplacement(Job job, Task failed) {
    boolean early = isEarlyFailure(failed) && job.getEarlyFailures() + 1 >= EARLY_FAILURES;
    return !failed.getStatus().getFailedPermanently()
        && !isDataLoss(failed)
        && !early
        && job.getCrashes() < maxCrashes(job.getSpec());
  }

  /**
   * The reason why a job whose attempt has crashed gets no further attempt; empty if it gets one.
   */
  static Optional<String> exhausted(Job job) {
    Attempt attempt = JobMachine.attempt(job);
    String last = "; last: " + attempt.getCause();
    if (attempt.getTasksList().stream().anyMatch(task -> task.getStatus().getFailedPermanently())) {
      return Optional.of(text(job, "a retry cannot help: " + attempt.getCause()));
    }
    if (job.getEarlyFailures() >= EARLY_FAILURES) {
      String rule = "its script failed to load %d times in a row before the first step%s";
      return Optional.of(text(job, String.format(rule, job.getEarlyFailures(), last)));
    }
    if (job.getCrashes() > maxCrashes(job.getSpec())) {
      String rule = "%d crashes exceed max_crashes=%d%s";
      return Optional.of(
          text(job, String.format(rule, job.getCrashes(), maxCrashes(job.getSpec()), last)));
    }
    return Optional.empty();
  }

  private static String text(Job job, String why) {
    return String.format(
        "job %s was not restarted: %s. See: tensorflow-ignite logs %s --attempt %d",
        job.getId(), why, job.getId(), job.getAttemptsCount());
  }
}
