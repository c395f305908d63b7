package io.tensorflowignite.job;

import static io.tensorflowignite.job.JobEvent.Type.DATA_LOST;
import static io.tensorflowignite.job.JobEvent.Type.DATA_MOVED;
import static io.tensorflowignite.job.JobEvent.Type.GIVEN_UP;
import static io.tensorflowignite.job.JobEvent.Type.HEALTHY;
import static io.tensorflowignite.job.JobEvent.Type.NODE_LOST;
import static io.tensorflowignite.job.JobEvent.Type.PLACED;
import static io.tensorflowignite.job.JobEvent.Type.PLACEMENT_FAILED;
import static io.tensorflowignite.job.JobEvent.Type.START_TIMED_OUT;
import static io.tensorflowignite.job.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_GONE;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RESERVED;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_RUNNING;
import static io.tensorflowignite.job.JobEvent.Type.TASKS_SUCCEEDED;
import static io.tensorflowignite.job.JobEvent.Type.TASK_CRASHED;
import static io.tensorflowignite.job.JobEvent.Type.TASK_REPLACED;
import static io.tensorflowignite.job.JobEvent.Type.WAIT_TIMED_OUT;
import static io.tensorflowignite.v1.JobState.ENDING;
import static io.tensorflowignite.v1.JobState.FAILED;
import static io.tensorflowignite.v1.JobState.PENDING;
import static io.tensorflowignite.v1.JobState.RESERVING;
import static io.tensorflowignite.v1.JobState.RESTARTING;
import static io.tensorflowignite.v1.JobState.RUNNING;
import static io.tensorflowignite.v1.JobState.STARTING;
import static io.tensorflowignite.v1.JobState.STOPPED;
import static io.tensorflowignite.v1.JobState.SUCCEEDED;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What becomes of a job when something happens: one table of transitions. An action ({@link
 * JobActions}) changes the job's row and nothing else; nodes act on the row (the phase of its
 * attempt), so the row is at once state and command.
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

  /** Changes the row. */
  interface Action {
    void apply(Job.Builder job, JobEvent event, Timestamp now);
  }

  private static final List<Transition> TABLE = new ArrayList<>();

  static {
    add(PENDING, PLACED, RESERVING, JobActions::openAttempt);
    add(PENDING, PLACEMENT_FAILED, FAILED, JobActions::failUnplaced);
    add(PENDING, WAIT_TIMED_OUT, FAILED, JobActions::failUnplaced);
    add(PENDING, DATA_LOST, FAILED, JobActions::failUnplaced);
    add(PENDING, STOP_REQUESTED, STOPPED, JobActions::stopUnplaced);

    add(RESERVING, TASKS_RESERVED, STARTING, JobActions::runTasks);
    add(STARTING, TASKS_RUNNING, RUNNING, JobActions::noteRunning);
    add(RUNNING, HEALTHY, RUNNING, JobActions::forgiveCrashes);
    add(RUNNING, TASK_REPLACED, RUNNING, JobActions::replaceTask);
    // A short script may be over before all of its tasks were seen running together.
    add(STARTING, TASKS_SUCCEEDED, ENDING, JobActions::succeed);
    add(RUNNING, TASKS_SUCCEEDED, ENDING, JobActions::succeed);

    add(RESERVING, START_TIMED_OUT, RESTARTING, JobActions::startTimedOut);
    add(STARTING, START_TIMED_OUT, RESTARTING, JobActions::startTimedOut);
    for (JobState active : new JobState[] {RESERVING, STARTING, RUNNING}) {
      add(active, TASK_CRASHED, RESTARTING, JobActions::crash);
      add(active, NODE_LOST, RESTARTING, JobActions::loseNode);
      add(active, DATA_MOVED, RESTARTING, JobActions::followData);
      add(active, DATA_LOST, ENDING, JobActions::loseData);
      add(active, STOP_REQUESTED, ENDING, JobActions::stop);
    }

    add(RESTARTING, PLACED, RESERVING, JobActions::openAttempt);
    // A node that dies takes its peers' connections with it: their failures are seen first, at
    // times.
    add(RESTARTING, NODE_LOST, RESTARTING, JobActions::blameNode);
    add(RESTARTING, DATA_MOVED, RESTARTING, JobActions::blameMove);
    add(RESTARTING, GIVEN_UP, ENDING, JobActions::giveUp);
    add(RESTARTING, PLACEMENT_FAILED, ENDING, JobActions::giveUp);
    add(RESTARTING, WAIT_TIMED_OUT, ENDING, JobActions::giveUp);
    add(RESTARTING, DATA_LOST, ENDING, JobActions::loseData);
    add(RESTARTING, STOP_REQUESTED, ENDING, JobActions::stop);

    for (JobState outcome : new JobState[] {SUCCEEDED, FAILED, STOPPED}) {
      add(ENDING, TASKS_GONE, outcome, JobActions::close);
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
        String.format(
            "No transition for %s [job=%s, state=%s, outcome=%s, attempts=%d, history=%s]",
            event,
            job.getId(),
            job.getState(),
            job.getOutcome(),
            job.getAttemptsCount(),
            job.getEventsList()));
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
}
