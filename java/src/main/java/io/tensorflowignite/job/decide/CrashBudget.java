package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_CLUSTER;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_DATA_LOST;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_MEMORY;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_NO_ROWS;
import static io.tensorflowignite.v1.FailureKind.FAILURE_KIND_PEER;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PREDICT;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseCount;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.FailureKind;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobOrBuilder;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskFailure;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The counts and limits of a job's crashes, of failures of its nodes and of restarts without
 * progress, the back-off after each failure, and failures that a retry cannot help.
 */
final class CrashBudget {
  /** Further incarnations of an evaluator. Its failures do not fail the job. */
  static final int MAX_EVALUATOR_REPLACEMENTS = 3;

  private static final int DEFAULT_MAX_CRASHES = 3;
  private static final int DEFAULT_MAX_RESTARTS = 20;
  private static final long FIRST_PAUSE_MS = 1_000;
  private static final long LONGEST_PAUSE_MS = 30_000;
  private static final int EARLY_FAILURES = 2;

  /** A script that has run for so long works, even if it reports no step. */
  private static final long WORKING_SECONDS = 10;

  private static final int MAX_NODE_FAILURES = 5;

  /** A busy machine gets up to 8 times the start timeout. */
  private static final int MAX_START_DOUBLINGS = 3;

  /** Failures that the cluster, the network or the failure of another task may have caused. */
  private static final Set<FailureKind> MAY_PASS =
      EnumSet.of(FAILURE_KIND_PEER, FAILURE_KIND_CLUSTER, FAILURE_KIND_MEMORY);

  private CrashBudget() {}

  static int maxCrashes(JobSpec spec) {
    return spec.getRestart().hasMaxCrashes()
        ? spec.getRestart().getMaxCrashes()
        : DEFAULT_MAX_CRASHES;
  }

  static int maxRestarts(JobSpec spec) {
    return spec.getRestart().hasMaxRestarts()
        ? spec.getRestart().getMaxRestarts()
        : DEFAULT_MAX_RESTARTS;
  }

  /** Counts the crash of a task. */
  static void countCrash(Job.Builder job, Task task) {
    job.setCrashes(job.getCrashes() + 1);
    String exception = earlyException(job, JobMachine.attempt(job), task);
    job.setEarlyFailures(earlyFailures(job, exception)).setEarlyException(exception);
  }

  static void countNodeFailure(Job.Builder job) {
    job.setNodeFailures(job.getNodeFailures() + 1);
  }

  /**
   * Counts a restart without progress, after an attempt that nodes or data have ended. Progress is
   * a step after the checkpoint from which the attempt resumed.
   */
  static void countRestart(Job.Builder job) {
    Attempt ended = JobMachine.attempt(job);
    if (progressed(ended)) {
      job.setIdleRestarts(0).clearIdleCauses();
      return;
    }
    job.setIdleRestarts(job.getIdleRestarts() + 1);
    CauseCount.Builder cause =
        job.getIdleCausesBuilderList().stream()
            .filter(known -> known.getKind() == ended.getCauseKind())
            .findFirst()
            .orElseGet(() -> job.addIdleCausesBuilder().setKind(ended.getCauseKind()));
    cause.setCount(cause.getCount() + 1).setLast(ended.getCause());
  }

  /** The newest attempt has another cause than the crash or failure of a node that was counted. */
  static void uncount(Job.Builder job) {
    if (isCrash(job)) {
      job.setCrashes(Math.max(0, job.getCrashes() - 1));
      job.setEarlyFailures(0).clearEarlyException();
    } else {
      job.setNodeFailures(Math.max(0, job.getNodeFailures() - 1));
    }
  }

  static void reset(Job.Builder job) {
    job.setCrashes(0).setNodeFailures(0).setIdleRestarts(0).clearIdleCauses();
    job.setEarlyFailures(0).clearEarlyException();
  }

  private static boolean progressed(JobOrBuilder job) {
    return progressed(JobMachine.attempt(job));
  }

  private static boolean progressed(Attempt attempt) {
    return attempt.getTasksList().stream().anyMatch(CrashBudget::hasDoneAStep);
  }

  /**
   * The pause after the newest attempt, which has crashed or whose nodes have failed. There is no
   * pause after the first crash of a script that had done a step, or had run for a while without a
   * report: this script works.
   */
  static Duration backOff(JobOrBuilder job) {
    if (isCrash(job) && job.getCrashes() <= 1 && (progressed(job) || ranForAWhile(job))) {
      return Duration.ZERO;
    }
    return backOff(isCrash(job) ? job.getCrashes() : job.getNodeFailures());
  }

  private static boolean ranForAWhile(JobOrBuilder job) {
    Attempt attempt = JobMachine.attempt(job);
    return attempt.hasRunningAt()
        && Timestamps.between(attempt.getRunningAt(), attempt.getEndingAt()).getSeconds()
            >= WORKING_SECONDS;
  }

  /** 1 s after the first failure, twice as long after each further one, at most 30 s. */
  static Duration backOff(int failures) {
    int doublings = Math.min(Math.max(failures - 1, 0), 10);
    return Duration.ofMillis(Math.min(FIRST_PAUSE_MS << doublings, LONGEST_PAUSE_MS));
  }

  /** The number of the newest attempt's crash or failure of nodes, for people. */
  static String count(JobOrBuilder job) {
    return isCrash(job)
        ? "crash " + job.getCrashes()
        : "failure " + job.getNodeFailures() + " of nodes";
  }

  /** The limit of {@link #count}, for people. */
  static String limit(JobOrBuilder job) {
    return isCrash(job)
        ? "max_crashes " + maxCrashes(job.getSpec())
        : "limit " + MAX_NODE_FAILURES + " in a row";
  }

  static boolean isCrash(JobOrBuilder job) {
    CauseKind kind = job.getAttempts(job.getAttemptsCount() - 1).getCauseKind();
    return kind == CAUSE_KIND_CRASH || kind == CAUSE_KIND_STALL;
  }

  /** Twice as long after each consecutive failure of nodes: their machines may be busy. */
  static Duration startTimeout(Job job, Duration first) {
    return first.multipliedBy(1L << Math.min(job.getNodeFailures(), MAX_START_DOUBLINGS));
  }

  /**
   * The exception of a task that failed before any task of its attempt had done a step; empty if a
   * retry may help. A step of a prediction is a row, and says nothing about the row that fails.
   */
  private static String earlyException(JobOrBuilder job, Attempt attempt, Task task) {
    TaskFailure failure = task.getStatus().getFailure();
    boolean isEarly = isPrediction(job) || !progressed(attempt);
    return failure.getExceptionClass().isEmpty() || mayBeOfAnother(task) || !isEarly
        ? ""
        : failure.getExceptionClass() + ": " + failure.getExceptionText();
  }

  private static boolean isPrediction(JobOrBuilder job) {
    return job.getSpec().getStrategy().getKind() == JOB_KIND_PREDICT;
  }

  /** Whether the failure of another task may have caused the exception of the task. */
  static boolean mayBeOfAnother(Task task) {
    return MAY_PASS.contains(kind(task));
  }

  /** Whether the end of another task may have caused the exception of the task. */
  static boolean isOfAPeer(Task task) {
    return kind(task) == FAILURE_KIND_PEER;
  }

  private static FailureKind kind(Task task) {
    return task.getStatus().getFailure().getKind();
  }

  /**
   * Whether a task has trained. An evaluator reports the step of the checkpoint that it evaluates.
   */
  private static boolean hasDoneAStep(Task task) {
    return task.getRole() != ROLE_EVALUATOR && hasDoneAStep(task.getStatus().getProgress());
  }

  /** Whether a step was done after the checkpoint from which the attempt has resumed. */
  static boolean hasDoneAStep(Progress progress) {
    return progress.getStep() > progress.getResumedFromStep();
  }

  /** The number of consecutive failures with this exception, this one included; 0 for "". */
  private static int earlyFailures(JobOrBuilder job, String exception) {
    if (exception.isEmpty()) {
      return 0;
    }
    return exception.equals(job.getEarlyException()) ? job.getEarlyFailures() + 1 : 1;
  }

  /** Whether the task failed because data are lost, which is no fault of the script. */
  static boolean isDataLoss(Task task) {
    return kind(task) == FAILURE_KIND_DATA_LOST;
  }

  /** Whether the task failed because it found no rows: an answer that a retry cannot change. */
  static boolean lacksRows(Task task) {
    return kind(task) == FAILURE_KIND_NO_ROWS;
  }

  /** Whether the failed task may be started again while the other tasks continue. */
  static boolean allowsReplacement(Job job, Task failed) {
    if (failed.getRole() == ROLE_EVALUATOR) {
      return !failed.getStatus().getFailedPermanently()
          && failed.getIncarnation() < MAX_EVALUATOR_REPLACEMENTS;
    }
    if (failed.getStatus().getNodeFailed()) {
      return job.getNodeFailures() + 1 < MAX_NODE_FAILURES;
    }
    String exception = earlyException(job, JobMachine.attempt(job), failed);
    boolean early = earlyFailures(job, exception) >= EARLY_FAILURES;
    return !failed.getStatus().getFailedPermanently()
        && !isDataLoss(failed)
        && !lacksRows(failed)
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
    if (job.getCrashes() > maxCrashes(job.getSpec())) {
      String rule = "%d crashes exceed max_crashes=%d%s";
      return Optional.of(
          text(job, String.format(rule, job.getCrashes(), maxCrashes(job.getSpec()), last)));
    }
    if (job.getNodeFailures() >= MAX_NODE_FAILURES) {
      String rule = "its nodes failed, or did not start its tasks in time, %d times in a row%s";
      return Optional.of(text(job, String.format(rule, job.getNodeFailures(), last)));
    }
    if (job.getEarlyFailures() >= EARLY_FAILURES) {
      String rule = "its script raised the same exception %d times in a row%s%s";
      String when = isPrediction(job) ? "" : " before the first step";
      return Optional.of(text(job, String.format(rule, job.getEarlyFailures(), when, last)));
    }
    if (job.getIdleRestarts() > maxRestarts(job.getSpec())) {
      String rule =
          "%d restarts in a row without a further step exceed max_restarts=%d; causes: %s";
      return Optional.of(
          text(
              job,
              String.format(
                  rule, job.getIdleRestarts(), maxRestarts(job.getSpec()), idleCauses(job))));
    }
    return Optional.empty();
  }

  /** The causes of the last restarts without progress: how often each, with its newest text. */
  private static String idleCauses(Job job) {
    return job.getIdleCausesList().stream()
        .sorted(Comparator.comparing(CauseCount::getKind))
        .map(
            cause ->
                String.format(
                    "%s %d times (last: %s)",
                    MessageText.name(cause.getKind()).toLowerCase(Locale.ROOT).replace('_', '-'),
                    cause.getCount(),
                    cause.getLast()))
        .collect(Collectors.joining(", "));
  }

  private static String text(Job job, String why) {
    return String.format(
        "job %s was not restarted: %s. See: tensorflow-ignite logs %s --attempt %d",
        job.getId(), why, job.getId(), JobMachine.attemptNumber(job));
  }
}
