package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_SAVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_CRASH;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_LOST;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DATA_MOVED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_DONE;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_FAILED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NODE_LEFT;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_NO_ROWS;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_PLANNED;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_START_TIMEOUT;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STOP_REQUEST;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.Role.ROLE_EVALUATOR;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_PLACED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptOrBuilder;
import io.tensorflowignite.v1.CauseCount;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;

/** The actions of {@link JobMachine}'s transitions; each adds a line to the job's history. */
final class JobActions {
  private static final int EXIT_STOPPED = 130;
  private static final int EXIT_FAILED = 1;
  private static final int MAX_EVENTS = 500;

  private JobActions() {}

  static void openAttempt(Job.Builder job, JobEvent event, Timestamp now) {
    Placement placement = event.placement();
    if (job.getAttemptsCount() > 0) {
      finish(current(job), now);
      if (current(job).getLastStep() > 0) {
        addEvent(job, now, EndPlan.steps(current(job).build()));
      }
    }
    Attempt.Builder attempt =
        Attempt.newBuilder()
            .setNumber(JobMachine.attemptNumber(job) + 1)
            .setPhase(ATTEMPT_PHASE_RESERVE)
            .setAssignmentDigest(placement.digest())
            .setStartedAt(now);
    for (Task task : placement.tasks()) {
      attempt.addTasks(
          task.toBuilder().setStatus(TaskStatus.newBuilder().setState(TASK_STATE_PLACED)));
    }
    job.addAttempts(attempt).clearNotBefore();
    Members.set(job, placement.members());
    addEvent(
        job,
        now,
        String.format(
            "attempt %d begins: %d tasks, %d of them workers beside their partitions (assignment"
                + " %s)",
            attempt.getNumber(),
            placement.tasks().size(),
            placement.workers(),
            MessageText.shortId(placement.digest())));
  }

  /** Notes that nothing of the last attempt is left, while the next one cannot begin yet. */
  static Job finishAttempt(Job job, Timestamp now) {
    Job.Builder finished = job.toBuilder();
    finish(current(finished), now);
    return finished.build();
  }

  private static void finish(Attempt.Builder attempt, Timestamp now) {
    if (!attempt.hasFinishedAt()) {
      attempt.setFinishedAt(now);
    }
  }

  static void runTasks(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setPhase(ATTEMPT_PHASE_RUN);
    long rows =
        current(job).getTasksList().stream().mapToLong(task -> task.getStatus().getRows()).sum();
    addEvent(job, now, String.format("ports are held and %d rows counted; the tasks start", rows));
  }

  static void noteRunning(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setRunningAt(now);
    addEvent(job, now, "every task runs");
  }

  static void resetCrashCount(Job.Builder job, JobEvent event, Timestamp now) {
    job.setCrashes(0).setNodeFailures(0).setIdleRestarts(0).clearIdleCauses();
    job.setEarlyFailures(0).clearEarlyException();
    addEvent(job, now, event.cause());
  }

  static void replaceTask(Job.Builder job, JobEvent event, Timestamp now) {
    boolean nodeFailed = event.task().getStatus().getNodeFailed();
    boolean isEvaluator = event.task().getRole() == ROLE_EVALUATOR;
    if (!isEvaluator) {
      if (nodeFailed) {
        countNodeFailure(job);
      } else {
        countCrash(job, event.task());
      }
      job.setTraceback(event.task().getStatus().getTraceback());
    }
    for (Task.Builder task : current(job).getTasksBuilderList()) {
      if (task.getRole() == event.task().getRole() && task.getIndex() == event.task().getIndex()) {
        TaskStatus failed = task.getStatus();
        task.setIncarnation(task.getIncarnation() + 1)
            .setStatus(
                TaskStatus.newBuilder()
                    .setState(TASK_STATE_RESERVED)
                    .setAddress(failed.getAddress())
                    .setRows(failed.getRows())
                    .setProgress(failed.getProgress()));
      }
    }
    addEvent(
        job,
        now,
        String.format(
            "%s is started again at its address, %s: %s",
            MessageText.name(event.task()),
            isEvaluator
                ? "and the training goes on"
                : nodeFailed
                    ? "since its node failed"
                    : String.format(
                        "since crashes (%d) <= max_crashes (%d)",
                        job.getCrashes(), CrashBudget.maxCrashes(job.getSpec())),
            event.cause()));
  }

  static void abandonTask(Job.Builder job, JobEvent event, Timestamp now) {
    for (Task.Builder task : current(job).getTasksBuilderList()) {
      if (task.getRole() == event.task().getRole() && task.getIndex() == event.task().getIndex()) {
        task.setAbandoned(true);
      }
    }
    addEvent(
        job,
        now,
        String.format(
            "%s is not started again in attempt %d (it was started %d times, at most %d), and the"
                + " training goes on without it: %s",
            MessageText.name(event.task()),
            JobMachine.attemptNumber(job),
            event.task().getIncarnation() + 1,
            CrashBudget.MAX_EVALUATOR_REPLACEMENTS + 1,
            event.cause()));
  }

  static void crash(Job.Builder job, JobEvent event, Timestamp now) {
    countCrash(job, event.task());
    boolean stalled = event.task().getStatus().getStalled();
    restart(job, stalled ? CAUSE_KIND_STALL : CAUSE_KIND_CRASH, event, now);
    backOff(job, event, now);
  }

  static void failNode(Job.Builder job, JobEvent event, Timestamp now) {
    countNodeFailure(job);
    restart(job, CAUSE_KIND_NODE_FAILED, event, now);
    backOff(job, event, now);
  }

  static void startTimedOut(Job.Builder job, JobEvent event, Timestamp now) {
    countNodeFailure(job);
    restart(job, CAUSE_KIND_START_TIMEOUT, event, now);
    backOff(job, event, now);
  }

  static void loseNode(Job.Builder job, JobEvent event, Timestamp now) {
    restart(job, CAUSE_KIND_NODE_LEFT, event, now);
    countRestart(job);
    addEvent(job, now, "restarting, since " + event.cause() + idleRestarts(job));
  }

  static void followData(Job.Builder job, JobEvent event, Timestamp now) {
    restart(job, CAUSE_KIND_DATA_MOVED, event, now);
    countRestart(job);
    addEvent(job, now, "restarting, since " + event.cause() + idleRestarts(job));
  }

  /** The tasks save after a step that they agree on; then the planned event ends the attempt. */
  static void planEnd(Job.Builder job, JobEvent event, Timestamp now) {
    CauseKind kind =
        event.planned().type() == JobEvent.Type.DATA_MOVED
            ? CAUSE_KIND_DATA_MOVED
            : CAUSE_KIND_PLANNED;
    current(job)
        .setPhase(ATTEMPT_PHASE_SAVE)
        .setPlannedEnd(
            PlannedEnd.newBuilder().setRequestedAt(now).setCauseKind(kind).setCause(event.cause()));
    addEvent(job, now, "its tasks save after a common step, then they end: " + event.cause());
  }

  static void endForNext(Job.Builder job, JobEvent event, Timestamp now) {
    restart(job, CAUSE_KIND_PLANNED, event, now);
    countRestart(job);
    addEvent(job, now, "restarting, since " + event.cause() + idleRestarts(job));
  }

  /** The failure of a task was the first sign of a lost node. */
  static void attributeToNode(Job.Builder job, JobEvent event, Timestamp now) {
    attribute(job, CAUSE_KIND_NODE_LEFT, event, now);
    countRestart(job);
  }

  /** The failure of a task was the first sign of a node that failed. */
  static void attributeToFailure(Job.Builder job, JobEvent event, Timestamp now) {
    attribute(job, CAUSE_KIND_NODE_FAILED, event, now);
    countNodeFailure(job);
    backOff(job, event, now);
  }

  /** A task failed because its partitions had moved. */
  static void attributeToMove(Job.Builder job, JobEvent event, Timestamp now) {
    attribute(job, CAUSE_KIND_DATA_MOVED, event, now);
    countRestart(job);
  }

  private static void attribute(Job.Builder job, CauseKind kind, JobEvent event, Timestamp now) {
    if (CrashBudget.isCrash(job)) {
      job.setCrashes(Math.max(0, job.getCrashes() - 1));
      job.setEarlyFailures(0).clearEarlyException();
    } else {
      job.setNodeFailures(Math.max(0, job.getNodeFailures() - 1));
    }
    job.clearNotBefore().clearTraceback();
    current(job).setCauseKind(kind).setCause(event.cause());
    addEvent(job, now, "not counted as a crash, since " + event.cause());
  }

  static void succeed(Job.Builder job, JobEvent event, Timestamp now) {
    endAttempt(job, CAUSE_KIND_DONE, "", now);
    job.setOutcome(JOB_STATE_SUCCEEDED).clearCause().clearTraceback().setExitCode(0);
    addEvent(job, now, "the script is done");
  }

  static void stop(Job.Builder job, JobEvent event, Timestamp now) {
    endAttempt(job, CAUSE_KIND_STOP_REQUEST, event.cause(), now);
    job.setOutcome(JOB_STATE_STOPPED).setCause(event.cause()).setExitCode(EXIT_STOPPED);
    job.clearTraceback();
    addEvent(job, now, event.cause());
  }

  static void loseData(Job.Builder job, JobEvent event, Timestamp now) {
    failUncounted(job, CAUSE_KIND_DATA_LOST, event, now);
  }

  static void lackRows(Job.Builder job, JobEvent event, Timestamp now) {
    failUncounted(job, CAUSE_KIND_NO_ROWS, event, now);
  }

  /** The failure of a task was an answer about the data, and no crash. */
  private static void failUncounted(
      Job.Builder job, CauseKind kind, JobEvent event, Timestamp now) {
    endAttempt(job, kind, event.cause(), now);
    if (CrashBudget.isCrash(job)) {
      String traceback = job.getTraceback();
      attribute(job, kind, event, now);
      job.setTraceback(traceback);
    }
    fail(job, event.cause(), now);
  }

  static void endFailed(Job.Builder job, JobEvent event, Timestamp now) {
    fail(job, event.cause(), now);
  }

  static void failUnplaced(Job.Builder job, JobEvent event, Timestamp now) {
    fail(job, event.cause(), now);
    job.setFinishedAt(now);
  }

  static void stopUnplaced(Job.Builder job, JobEvent event, Timestamp now) {
    job.setOutcome(JOB_STATE_STOPPED)
        .setCause(event.cause())
        .setExitCode(EXIT_STOPPED)
        .setFinishedAt(now);
    addEvent(job, now, event.cause());
  }

  static void close(Job.Builder job, JobEvent event, Timestamp now) {
    finish(current(job), now);
    job.setFinishedAt(now);
    String steps = current(job).getLastStep() > 0 ? "; " + EndPlan.steps(current(job).build()) : "";
    addEvent(job, now, "nothing of the job runs any more" + steps);
  }

  /** The outcome stays; why a job failed or was stopped comes first. */
  static void closeUnproven(Job.Builder job, JobEvent event, Timestamp now) {
    if (!job.getCause().isEmpty()) {
      job.setCause(job.getCause() + "; " + event.cause());
    }
    leaveUnproven(job, event, now);
    addEvent(job, now, event.cause());
  }

  static void failUnproven(Job.Builder job, JobEvent event, Timestamp now) {
    fail(job, event.cause(), now);
    leaveUnproven(job, event, now);
  }

  private static void leaveUnproven(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).addAllUnprovenNodeIds(event.nodes());
    job.setFinishedAt(now);
  }

  private static void restart(Job.Builder job, CauseKind kind, JobEvent event, Timestamp now) {
    endAttempt(job, kind, event.cause(), now);
    if (event.task() != null) {
      TaskStatus status = event.task().getStatus();
      job.setTraceback(status.getTraceback());
      job.setExitCode(status.getExitCode() > 0 ? status.getExitCode() : EXIT_FAILED);
    }
  }

  private static void endAttempt(Job.Builder job, CauseKind kind, String cause, Timestamp now) {
    Attempt.Builder attempt = current(job);
    if (attempt.getPhase() != ATTEMPT_PHASE_STOP) {
      attempt.setPhase(ATTEMPT_PHASE_STOP).setEndingAt(now).setCauseKind(kind).setCause(cause);
    }
  }

  private static void countCrash(Job.Builder job, Task task) {
    job.setCrashes(job.getCrashes() + 1);
    String exception = CrashBudget.earlyException(job, current(job).build(), task);
    job.setEarlyFailures(CrashBudget.earlyFailures(job, exception)).setEarlyException(exception);
  }

  private static void countNodeFailure(Job.Builder job) {
    job.setNodeFailures(job.getNodeFailures() + 1);
  }

  private static void countRestart(Job.Builder job) {
    job.setIdleRestarts(CrashBudget.idleRestarts(job));
    if (job.getIdleRestarts() == 0) {
      job.clearIdleCauses();
    } else {
      countIdleCause(job, current(job));
    }
  }

  private static void countIdleCause(Job.Builder job, AttemptOrBuilder ended) {
    for (CauseCount.Builder known : job.getIdleCausesBuilderList()) {
      if (known.getKind() == ended.getCauseKind()) {
        known.setCount(known.getCount() + 1).setLast(ended.getCause());
        return;
      }
    }
    job.addIdleCausesBuilder().setKind(ended.getCauseKind()).setCount(1).setLast(ended.getCause());
  }

  private static String idleRestarts(Job.Builder job) {
    return job.getIdleRestarts() == 0
        ? ""
        : String.format(
            " (restart %d without a further step, max_restarts %d)",
            job.getIdleRestarts(), CrashBudget.maxRestarts(job.getSpec()));
  }

  private static void backOff(Job.Builder job, JobEvent event, Timestamp now) {
    long pauseMs = CrashBudget.backOff(job).toMillis();
    job.setNotBefore(Timestamps.add(now, Durations.fromMillis(pauseMs)));
    addEvent(
        job,
        now,
        String.format(
            "attempt %d %s (%s, %s): %s",
            JobMachine.attemptNumber(job),
            CrashBudget.isCrash(job) ? "crashed" : "ended",
            CrashBudget.count(job),
            CrashBudget.limit(job),
            event.cause()));
  }

  private static void fail(Job.Builder job, String cause, Timestamp now) {
    job.setOutcome(JOB_STATE_FAILED).setCause(cause);
    if (job.getExitCode() == 0) {
      job.setExitCode(EXIT_FAILED);
    }
    addEvent(job, now, cause);
  }

  static void addEvent(Job.Builder job, Timestamp now, String text) {
    int count = job.getEventsCount();
    long last = count == 0 ? 0 : job.getEvents(count - 1).getNumber();
    job.addEvents(
        Event.newBuilder()
            .setNumber(last + 1)
            .setAt(now)
            .setAttempt(JobMachine.attemptNumber(job))
            .setState(job.getState())
            .setText(text));
    if (job.getEventsCount() > MAX_EVENTS) {
      job.removeEvents(0);
    }
  }

  private static Attempt.Builder current(Job.Builder job) {
    return job.getAttemptsBuilder(job.getAttemptsCount() - 1);
  }
}
