package io.tensorflowignite.job;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;

/**
 * What the transitions of {@link JobMachine} do to a job's row; each leaves a line in its history.
 */
final class JobActions {
  private static final int EXIT_STOPPED = 130;
  private static final int EXIT_FAILED = 1;
  private static final int MAX_EVENTS = 500;

  private JobActions() {}

  static void openAttempt(Job.Builder job, JobEvent event, Timestamp now) {
    if (job.getAttemptsCount() > 0) {
      current(job).setFinishedAt(now);
    }
    Attempt.Builder attempt =
        Attempt.newBuilder()
            .setNumber(job.getAttemptsCount() + 1)
            .setPhase(AttemptPhase.RESERVE)
            .setAssignmentDigest(event.digest())
            .setStartedAt(now);
    for (Task task : event.tasks()) {
      attempt.addTasks(
          task.toBuilder().setStatus(TaskStatus.newBuilder().setState(TaskState.TASK_PLACED)));
    }
    job.addAttempts(attempt).clearNotBefore().clearMembers();
    for (Node member : event.members()) {
      job.addMembers(member.toBuilder().clearAgent());
    }
    long workers = event.tasks().stream().filter(task -> task.getRole() == Role.WORKER).count();
    tell(
        job,
        now,
        String.format(
            "attempt %d begins: %d tasks, %d of them workers beside their partitions (assignment"
                + " %s)",
            attempt.getNumber(), event.tasks().size(), workers, Texts.shortId(event.digest())));
  }

  static void runTasks(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setPhase(AttemptPhase.RUN);
    long rows =
        current(job).getTasksList().stream().mapToLong(task -> task.getStatus().getRows()).sum();
    tell(job, now, String.format("ports are held and %d rows counted; the tasks start", rows));
  }

  static void noteRunning(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setRunningAt(now);
    tell(job, now, "every task runs");
  }

  static void forgiveCrashes(Job.Builder job, JobEvent event, Timestamp now) {
    job.setCrashes(0).setEarlyFailures(0);
    tell(job, now, event.cause());
  }

  static void replaceTask(Job.Builder job, JobEvent event, Timestamp now) {
    countCrash(job, event.task());
    job.setTraceback(event.task().getStatus().getTraceback());
    for (Task.Builder task : current(job).getTasksBuilderList()) {
      if (task.getRole() == event.task().getRole() && task.getIndex() == event.task().getIndex()) {
        TaskStatus failed = task.getStatus();
        task.setIncarnation(task.getIncarnation() + 1)
            .setStatus(
                TaskStatus.newBuilder()
                    .setState(TaskState.TASK_RESERVED)
                    .setAddress(failed.getAddress())
                    .setRows(failed.getRows())
                    .setProgress(failed.getProgress()));
      }
    }
    tell(
        job,
        now,
        String.format(
            "%s is started again at its address, since crashes (%d) <= max_crashes (%d): %s",
            Texts.name(event.task()),
            job.getCrashes(),
            Budget.maxCrashes(job.getSpec()),
            event.cause()));
  }

  static void crash(Job.Builder job, JobEvent event, Timestamp now) {
    countCrash(job, event.task());
    restart(job, CauseKind.CRASH, event, now);
    backOff(job, event, now);
  }

  static void startTimedOut(Job.Builder job, JobEvent event, Timestamp now) {
    countCrash(job, null);
    restart(job, CauseKind.START_TIMEOUT, event, now);
    backOff(job, event, now);
  }

  static void loseNode(Job.Builder job, JobEvent event, Timestamp now) {
    restart(job, CauseKind.NODE_LEFT, event, now);
    tell(job, now, "restarting, since " + event.cause() + " (topology changes have no limit)");
  }

  static void followData(Job.Builder job, JobEvent event, Timestamp now) {
    restart(job, CauseKind.DATA_MOVED, event, now);
    tell(job, now, "restarting, since " + event.cause() + " (topology changes have no limit)");
  }

  /** What looked like a crash was the first that was seen of a lost node. */
  static void blameNode(Job.Builder job, JobEvent event, Timestamp now) {
    blame(job, CauseKind.NODE_LEFT, event, now);
  }

  /** What looked like a crash was a task that did not find its rows any more. */
  static void blameMove(Job.Builder job, JobEvent event, Timestamp now) {
    blame(job, CauseKind.DATA_MOVED, event, now);
  }

  private static void blame(Job.Builder job, CauseKind kind, JobEvent event, Timestamp now) {
    job.setCrashes(Math.max(0, job.getCrashes() - 1)).setEarlyFailures(0).clearNotBefore();
    job.clearTraceback();
    current(job).setCauseKind(kind).setCause(event.cause());
    tell(job, now, "not counted as a crash, since " + event.cause());
  }

  static void succeed(Job.Builder job, JobEvent event, Timestamp now) {
    endAttempt(job, CauseKind.DONE, "", now);
    job.setOutcome(JobState.SUCCEEDED).clearCause().clearTraceback().setExitCode(0);
    tell(job, now, "the script is done");
  }

  static void stop(Job.Builder job, JobEvent event, Timestamp now) {
    endAttempt(job, CauseKind.STOP_REQUEST, event.cause(), now);
    job.setOutcome(JobState.STOPPED).setCause(event.cause()).setExitCode(EXIT_STOPPED);
    job.clearTraceback();
    tell(job, now, event.cause());
  }

  static void loseData(Job.Builder job, JobEvent event, Timestamp now) {
    endAttempt(job, CauseKind.DATA_LOST, event.cause(), now);
    fail(job, event.cause(), now);
  }

  static void giveUp(Job.Builder job, JobEvent event, Timestamp now) {
    fail(job, event.cause(), now);
  }

  static void failUnplaced(Job.Builder job, JobEvent event, Timestamp now) {
    fail(job, event.cause(), now);
    job.setFinishedAt(now);
  }

  static void stopUnplaced(Job.Builder job, JobEvent event, Timestamp now) {
    job.setOutcome(JobState.STOPPED)
        .setCause(event.cause())
        .setExitCode(EXIT_STOPPED)
        .setFinishedAt(now);
    tell(job, now, event.cause());
  }

  static void close(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setFinishedAt(now);
    job.setFinishedAt(now);
    tell(job, now, "nothing of the job runs any more");
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
    if (attempt.getPhase() != AttemptPhase.STOP) {
      attempt.setPhase(AttemptPhase.STOP).setEndingAt(now).setCauseKind(kind).setCause(cause);
    }
  }

  private static void countCrash(Job.Builder job, Task task) {
    job.setCrashes(job.getCrashes() + 1);
    job.setEarlyFailures(
        task != null && Budget.isEarlyFailure(task) ? job.getEarlyFailures() + 1 : 0);
  }

  private static void backOff(Job.Builder job, JobEvent event, Timestamp now) {
    long pauseMs = Budget.backOffMs(job.getCrashes());
    job.setNotBefore(Timestamps.add(now, Durations.fromMillis(pauseMs)));
    tell(
        job,
        now,
        String.format(
            "attempt %d crashed (crash %d, max_crashes %d): %s",
            job.getAttemptsCount(),
            job.getCrashes(),
            Budget.maxCrashes(job.getSpec()),
            event.cause()));
  }

  private static void fail(Job.Builder job, String cause, Timestamp now) {
    job.setOutcome(JobState.FAILED).setCause(cause);
    if (job.getExitCode() == 0) {
      job.setExitCode(EXIT_FAILED);
    }
    tell(job, now, cause);
  }

  private static void tell(Job.Builder job, Timestamp now, String text) {
    job.addEvents(
        Event.newBuilder()
            .setAt(now)
            .setAttempt(job.getAttemptsCount())
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
