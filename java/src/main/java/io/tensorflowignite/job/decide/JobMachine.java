package io.tensorflowignite.job.decide;

import static io.tensorflowignite.job.decide.JobEvent.Type.DATA_LOST;
import static io.tensorflowignite.job.decide.JobEvent.Type.DATA_MOVED;
import static io.tensorflowignite.job.decide.JobEvent.Type.END_PLANNED;
import static io.tensorflowignite.job.decide.JobEvent.Type.END_REQUESTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.HEALTHY;
import static io.tensorflowignite.job.decide.JobEvent.Type.NODE_FAILED;
import static io.tensorflowignite.job.decide.JobEvent.Type.NODE_LOST;
import static io.tensorflowignite.job.decide.JobEvent.Type.NO_ROWS;
import static io.tensorflowignite.job.decide.JobEvent.Type.PLACED;
import static io.tensorflowignite.job.decide.JobEvent.Type.PLACEMENT_FAILED;
import static io.tensorflowignite.job.decide.JobEvent.Type.PROOF_TIMED_OUT;
import static io.tensorflowignite.job.decide.JobEvent.Type.RETRIES_EXHAUSTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.START_TIMED_OUT;
import static io.tensorflowignite.job.decide.JobEvent.Type.STOP_REQUESTED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_RESERVED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_RUNNING;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_SUCCEEDED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASKS_TERMINATED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_ABANDONED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_CRASHED;
import static io.tensorflowignite.job.decide.JobEvent.Type.TASK_REPLACED;
import static io.tensorflowignite.job.decide.JobEvent.Type.WAIT_TIMED_OUT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STOPPED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;

import com.google.protobuf.Timestamp;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobOrBuilder;
import io.tensorflowignite.v1.JobState;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The table of a job's transitions. An action ({@link JobActions}) changes only the job's row; the
 * nodes act on the row (the phase of its attempt), so the row is both state and command.
 */
public final class JobMachine {
  /** One line of the table. */
  public static final class Transition {
    public final JobState from;
    public final JobEvent.Type event;
    public final JobState to;
    private final Action action;

    private Transition(JobState from, JobEvent.Type event, JobState to, Action action) {
      this.from = from;
      this.event = event;
      this.to = to;
      this.action = action;
    }

    /** Only a job that is ending has an outcome that chooses among the transitions of one event. */
    private boolean applies(JobState state, JobEvent.Type type, JobState outcome) {
      return from == state && event == type && (state != JOB_STATE_ENDING || to == outcome);
    }

    @Override
    public String toString() {
      return MessageText.name(from) + " --" + event + "--> " + MessageText.name(to);
    }
  }

  interface Action {
    void apply(Job.Builder job, JobEvent event, Timestamp now);
  }

  private static final List<Transition> TABLE = new ArrayList<>();

  static {
    add(JOB_STATE_PENDING, PLACED, JOB_STATE_RESERVING, JobActions::openAttempt);
    add(JOB_STATE_PENDING, PLACEMENT_FAILED, JOB_STATE_FAILED, JobActions::failUnplaced);
    add(JOB_STATE_PENDING, WAIT_TIMED_OUT, JOB_STATE_FAILED, JobActions::failUnplaced);
    add(JOB_STATE_PENDING, DATA_LOST, JOB_STATE_FAILED, JobActions::failUnplaced);
    add(JOB_STATE_PENDING, STOP_REQUESTED, JOB_STATE_STOPPED, JobActions::stopUnplaced);

    add(JOB_STATE_RESERVING, TASKS_RESERVED, JOB_STATE_STARTING, JobActions::runTasks);
    add(JOB_STATE_STARTING, TASKS_RUNNING, JOB_STATE_RUNNING, JobActions::noteRunning);
    add(JOB_STATE_RUNNING, HEALTHY, JOB_STATE_RUNNING, JobActions::resetCrashCount);
    add(JOB_STATE_RUNNING, TASK_REPLACED, JOB_STATE_RUNNING, JobActions::replaceTask);
    add(JOB_STATE_RUNNING, TASK_ABANDONED, JOB_STATE_RUNNING, JobActions::abandonTask);
    add(JOB_STATE_RUNNING, END_PLANNED, JOB_STATE_RUNNING, JobActions::planEnd);
    // A short script may end before all of its tasks were observed running together.
    add(JOB_STATE_STARTING, TASKS_SUCCEEDED, JOB_STATE_ENDING, JobActions::succeed);
    add(JOB_STATE_RUNNING, TASKS_SUCCEEDED, JOB_STATE_ENDING, JobActions::succeed);

    add(JOB_STATE_RESERVING, START_TIMED_OUT, JOB_STATE_RESTARTING, JobActions::startTimedOut);
    add(JOB_STATE_STARTING, START_TIMED_OUT, JOB_STATE_RESTARTING, JobActions::startTimedOut);
    for (JobState active :
        new JobState[] {JOB_STATE_RESERVING, JOB_STATE_STARTING, JOB_STATE_RUNNING}) {
      add(active, TASK_CRASHED, JOB_STATE_RESTARTING, JobActions::crash);
      add(active, NODE_FAILED, JOB_STATE_RESTARTING, JobActions::failNode);
      add(active, NODE_LOST, JOB_STATE_RESTARTING, JobActions::loseNode);
      add(active, DATA_MOVED, JOB_STATE_RESTARTING, JobActions::followData);
      add(active, END_REQUESTED, JOB_STATE_RESTARTING, JobActions::endForNext);
      add(active, DATA_LOST, JOB_STATE_ENDING, JobActions::loseData);
      add(active, STOP_REQUESTED, JOB_STATE_ENDING, JobActions::stop);
    }

    add(JOB_STATE_RESTARTING, PLACED, JOB_STATE_RESERVING, JobActions::openAttempt);
    // A node that dies breaks the connections of its peers, whose failures may be observed first.
    add(JOB_STATE_RESTARTING, NODE_LOST, JOB_STATE_RESTARTING, JobActions::attributeToNode);
    add(JOB_STATE_RESTARTING, NODE_FAILED, JOB_STATE_RESTARTING, JobActions::attributeToFailure);
    add(JOB_STATE_RESTARTING, DATA_MOVED, JOB_STATE_RESTARTING, JobActions::attributeToMove);
    add(JOB_STATE_RESTARTING, RETRIES_EXHAUSTED, JOB_STATE_ENDING, JobActions::endFailed);
    add(JOB_STATE_RESTARTING, PLACEMENT_FAILED, JOB_STATE_ENDING, JobActions::endFailed);
    add(JOB_STATE_RESTARTING, WAIT_TIMED_OUT, JOB_STATE_ENDING, JobActions::endFailed);
    add(JOB_STATE_RESTARTING, PROOF_TIMED_OUT, JOB_STATE_FAILED, JobActions::failUnproven);
    add(JOB_STATE_RESTARTING, DATA_LOST, JOB_STATE_ENDING, JobActions::loseData);
    add(JOB_STATE_RESTARTING, NO_ROWS, JOB_STATE_ENDING, JobActions::lackRows);
    add(JOB_STATE_RESTARTING, STOP_REQUESTED, JOB_STATE_ENDING, JobActions::stop);

    for (JobState outcome :
        new JobState[] {JOB_STATE_SUCCEEDED, JOB_STATE_FAILED, JOB_STATE_STOPPED}) {
      add(JOB_STATE_ENDING, TASKS_TERMINATED, outcome, JobActions::close);
      add(JOB_STATE_ENDING, PROOF_TIMED_OUT, outcome, JobActions::closeUnproven);
    }
  }

  private JobMachine() {}

  static List<Transition> table() {
    return Collections.unmodifiableList(TABLE);
  }

  public static boolean isFinal(Job job) {
    return isFinal(job.getState());
  }

  private static boolean isFinal(JobState state) {
    return state == JOB_STATE_SUCCEEDED || state == JOB_STATE_FAILED || state == JOB_STATE_STOPPED;
  }

  /** The newest attempt. */
  public static Attempt attempt(JobOrBuilder job) {
    return job.getAttempts(job.getAttemptsCount() - 1);
  }

  /** The number of the newest attempt; 0: there is none yet. A row has no earlier ones. */
  public static int attemptNumber(JobOrBuilder job) {
    return job.getAttemptsCount() == 0 ? 0 : attempt(job).getNumber();
  }

  static Transition transition(Job job, JobEvent event) {
    for (Transition line : TABLE) {
      if (line.applies(job.getState(), event.type(), job.getOutcome())) {
        return line;
      }
    }
    throw new IllegalStateException(
        String.format(
            "No transition for %s [job=%s, state=%s, outcome=%s, attempts=%d, history=%s]",
            event,
            job.getId(),
            MessageText.name(job.getState()),
            MessageText.name(job.getOutcome()),
            attemptNumber(job),
            job.getEventsList()));
  }

  static Job apply(Job job, JobEvent event, Timestamp now) {
    Transition line = transition(job, event);
    Job.Builder after = job.toBuilder().setState(line.to).clearWaitingFor();
    line.action.apply(after, event, now);
    return after.build();
  }

  /**
   * Adds a line to the table.
   *
   * @throws IllegalArgumentException if a line for the same state and event is there already, or if
   *     the state is final
   */
  static void add(JobState from, JobEvent.Type event, JobState to, Action action) {
    Transition added = new Transition(from, event, to, action);
    if (isFinal(from)) {
      throw new IllegalArgumentException("A final state has no transitions [added=" + added + "]");
    }
    for (Transition line : TABLE) {
      if (line.applies(from, event, to)) {
        throw new IllegalArgumentException(
            "A state has one transition for each event [added="
                + added
                + ", present="
                + line
                + "]");
      }
    }
    TABLE.add(added);
  }
}
