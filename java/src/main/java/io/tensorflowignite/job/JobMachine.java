package io.tensorflowignite.job;

import static io.tensorflowignite.job.JobEvent.Type.NODE_LOST;
import static io.tensorflowignite.job.JobEvent.Type.PLACED;
import static io.tensorflowignite.job.JobEvent.Type.PLACEMENT_FAILED;
import static io.tensorflowignite.job.JobEvent.Type.START_TIMED_OUT;
import static io.tensorflowignite.job.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_GONE;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RESERVED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RUNNING;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_SUCCEEDED;
import static io.tensorflowignite.job.JobEvent.Type.TASK_FAILED;
import static io.tensorflowignite.v1.JobState.ENDING;
import static io.tensorflowignite.v1.JobState.FAILED;
import static io.tensorflowignite.v1.JobState.PENDING;
import static io.tensorflowignite.v1.JobState.RESERVING;
import static io.tensorflowignite.v1.JobState.RUNNING;
import static io.tensorflowignite.v1.JobState.STARTING;
import static io.tensorflowignite.v1.JobState.STOPPED;
import static io.tensorflowignite.v1.JobState.SUCCEEDED;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What becomes of a job when something happens: one table of transitions. An action changes the
 * job's row and nothing else; nodes act on the row (the phase of its attempt), so the row is at
 * once state and command.
 */
final class JobMachine {
  /** One line of the table. */
  static final class Transition {
    final JobState from;
    final JobEvent.Type event;
    final JobState to;
    private final Action action;

    private Transition(JobState from, JobEvent.Type event, JobState to, Action action) {
      this.from = from;
      this.event = event;
      this.to = to;
      this.action = action;
    }

    @Override
    public String toString() {
      return from + " --" + event + "--> " + to;
    }
  }

  private interface Action {
    void apply(Job.Builder job, JobEvent event, Timestamp now);
  }

  private static final int EXIT_STOPPED = 130;
  private static final int EXIT_FAILED = 1;

  private static final List<Transition> TABLE = new ArrayList<>();

  static {
    add(PENDING, PLACED, RESERVING, JobMachine::openAttempt);
    add(PENDING, PLACEMENT_FAILED, FAILED, JobMachine::failWithoutAttempt);
    add(PENDING, STOP_REQUESTED, STOPPED, JobMachine::stopWithoutAttempt);

    add(RESERVING, TASKS_RESERVED, STARTING, JobMachine::runTasks);
    add(STARTING, TASKS_RUNNING, RUNNING, JobMachine::noteRunning);

    // A short script may be over before all of its tasks were seen running together.
    for (JobState running : new JobState[] {STARTING, RUNNING}) {
      add(running, TASKS_SUCCEEDED, ENDING, JobMachine::succeed);
    }
    for (JobState starting : new JobState[] {RESERVING, STARTING}) {
      add(starting, START_TIMED_OUT, ENDING, JobMachine::fail);
    }
    for (JobState active : new JobState[] {RESERVING, STARTING, RUNNING}) {
      add(active, TASK_FAILED, ENDING, JobMachine::fail);
      add(active, NODE_LOST, ENDING, JobMachine::fail);
      add(active, STOP_REQUESTED, ENDING, JobMachine::stop);
    }

    for (JobState outcome : new JobState[] {SUCCEEDED, FAILED, STOPPED}) {
      add(ENDING, TASKS_GONE, outcome, JobMachine::close);
    }
  }

  private JobMachine() {}

  static List<Transition> table() {
    return Collections.unmodifiableList(TABLE);
  }

  static boolean isOver(Job job) {
    switch (job.getState()) {
      case SUCCEEDED:
      case FAILED:
      case STOPPED:
        return true;
      default:
        return false;
    }
  }

  /** The attempt that counts now: the newest. */
  static Attempt attempt(Job job) {
    return job.getAttempts(job.getAttemptsCount() - 1);
  }

  /** The line of the table that applies. */
  static Transition transition(Job job, JobEvent event) {
    for (Transition line : TABLE) {
      boolean outcomeFits = job.getState() != ENDING || line.to == job.getOutcome();
      if (line.from == job.getState() && line.event == event.type() && outcomeFits) {
        return line;
      }
    }
    throw new IllegalStateException(
        "No transition for "
            + event
            + " [job="
            + job.getId()
            + ", state="
            + job.getState()
            + ", outcome="
            + job.getOutcome()
            + ", attempts="
            + job.getAttemptsCount()
            + "]");
  }

  static Job apply(Job job, JobEvent event, Timestamp now) {
    Transition line = transition(job, event);
    Job.Builder after = job.toBuilder().setState(line.to).clearWaitingFor();
    line.action.apply(after, event, now);
    return after.build();
  }

  private static void add(JobState from, JobEvent.Type event, JobState to, Action action) {
    TABLE.add(new Transition(from, event, to, action));
  }

  private static void openAttempt(Job.Builder job, JobEvent event, Timestamp now) {
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
    job.addAttempts(attempt);
  }

  private static void runTasks(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setPhase(AttemptPhase.RUN);
  }

  private static void noteRunning(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setRunningAt(now);
  }

  private static void succeed(Job.Builder job, JobEvent event, Timestamp now) {
    end(job, SUCCEEDED, now);
  }

  private static void fail(Job.Builder job, JobEvent event, Timestamp now) {
    job.setCause(event.cause()).setExitCode(EXIT_FAILED);
    if (event.failed() != null) {
      TaskStatus status = event.failed().getStatus();
      job.setTraceback(status.getTraceback());
      if (status.getExitCode() > 0) {
        job.setExitCode(status.getExitCode());
      }
    }
    end(job, FAILED, now);
  }

  private static void stop(Job.Builder job, JobEvent event, Timestamp now) {
    job.setCause(event.cause()).setExitCode(EXIT_STOPPED);
    end(job, STOPPED, now);
  }

  private static void end(Job.Builder job, JobState outcome, Timestamp now) {
    job.setOutcome(outcome);
    current(job).setPhase(AttemptPhase.STOP).setEndingAt(now);
  }

  private static void close(Job.Builder job, JobEvent event, Timestamp now) {
    current(job).setFinishedAt(now);
    job.setFinishedAt(now);
  }

  private static void failWithoutAttempt(Job.Builder job, JobEvent event, Timestamp now) {
    job.setOutcome(FAILED).setCause(event.cause()).setExitCode(EXIT_FAILED).setFinishedAt(now);
  }

  private static void stopWithoutAttempt(Job.Builder job, JobEvent event, Timestamp now) {
    job.setOutcome(STOPPED).setCause(event.cause()).setExitCode(EXIT_STOPPED).setFinishedAt(now);
  }

  private static Attempt.Builder current(Job.Builder job) {
    return job.getAttemptsBuilder(job.getAttemptsCount() - 1);
  }
}
