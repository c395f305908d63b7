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
import static io.tensorflowignite.v1.JobState.JOB_STATE_ENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_FAILED;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESTARTING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STARTING;
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
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobOrBuilder;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.PlannedEnd;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;

/**
 * The states of a job: the table of its transitions, and below it their actions, in the order of
 * the table. An action changes only the job's row, and adds a line to its history. The nodes act on
 * the row (the phase of its attempt), so the row is both state and command.
 */
public final class JobMachine {
  private static final int EXIT_STOPPED = 130;
  private static final int EXIT_FAILED = 1;
  private static final int MAX_EVENTS = 500;

  /** One line of the table. */
  public static final class Transition {
    public final JobState from;
    public final JobEvent.Type event;
    public final JobState to;
    private final Consumer<JobMachine> action;

    private Transition(
        JobState from, JobEvent.Type event, JobState to, Consumer<JobMachine> action) {
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

  private static final List<Transition> TABLE = new ArrayList<>();

  static {
    add(JOB_STATE_PENDING, PLACED, JOB_STATE_RESERVING, JobMachine::openAttempt);
    add(JOB_STATE_PENDING, PLACEMENT_FAILED, JOB_STATE_FAILED, JobMachine::failUnplaced);
    add(JOB_STATE_PENDING, WAIT_TIMED_OUT, JOB_STATE_FAILED, JobMachine::failUnplaced);
    add(JOB_STATE_PENDING, DATA_LOST, JOB_STATE_FAILED, JobMachine::failUnplaced);
    add(JOB_STATE_PENDING, STOP_REQUESTED, JOB_STATE_STOPPED, JobMachine::stopUnplaced);

    add(JOB_STATE_RESERVING, TASKS_RESERVED, JOB_STATE_STARTING, JobMachine::runTasks);
    add(JOB_STATE_STARTING, TASKS_RUNNING, JOB_STATE_RUNNING, JobMachine::noteRunning);
    add(JOB_STATE_RUNNING, HEALTHY, JOB_STATE_RUNNING, JobMachine::resetCounts);
    add(JOB_STATE_RUNNING, TASK_REPLACED, JOB_STATE_RUNNING, JobMachine::replaceTask);
    add(JOB_STATE_RUNNING, TASK_ABANDONED, JOB_STATE_RUNNING, JobMachine::abandonTask);
    add(JOB_STATE_RUNNING, END_PLANNED, JOB_STATE_RUNNING, JobMachine::planEnd);
    // A short script may end before all of its tasks were observed running together.
    add(JOB_STATE_STARTING, TASKS_SUCCEEDED, JOB_STATE_ENDING, JobMachine::succeed);
    add(JOB_STATE_RUNNING, TASKS_SUCCEEDED, JOB_STATE_ENDING, JobMachine::succeed);

    add(JOB_STATE_RESERVING, START_TIMED_OUT, JOB_STATE_RESTARTING, JobMachine::timeOutStart);
    add(JOB_STATE_STARTING, START_TIMED_OUT, JOB_STATE_RESTARTING, JobMachine::timeOutStart);
    for (JobState active : List.of(JOB_STATE_RESERVING, JOB_STATE_STARTING, JOB_STATE_RUNNING)) {
      add(active, TASK_CRASHED, JOB_STATE_RESTARTING, JobMachine::crash);
      add(active, NODE_FAILED, JOB_STATE_RESTARTING, JobMachine::failNode);
      add(active, NODE_LOST, JOB_STATE_RESTARTING, row -> row.restart(CAUSE_KIND_NODE_LEFT));
      add(active, DATA_MOVED, JOB_STATE_RESTARTING, row -> row.restart(CAUSE_KIND_DATA_MOVED));
      add(active, END_REQUESTED, JOB_STATE_RESTARTING, row -> row.restart(CAUSE_KIND_PLANNED));
      add(active, DATA_LOST, JOB_STATE_ENDING, JobMachine::loseData);
      add(active, STOP_REQUESTED, JOB_STATE_ENDING, JobMachine::stop);
    }

    add(JOB_STATE_RESTARTING, PLACED, JOB_STATE_RESERVING, JobMachine::openAttempt);
    // A node that dies breaks the connections of its peers, whose failures may be observed first.
    add(JOB_STATE_RESTARTING, NODE_LOST, JOB_STATE_RESTARTING, JobMachine::attributeToNode);
    add(JOB_STATE_RESTARTING, NODE_FAILED, JOB_STATE_RESTARTING, JobMachine::attributeToFailure);
    add(JOB_STATE_RESTARTING, DATA_MOVED, JOB_STATE_RESTARTING, JobMachine::attributeToMove);
    add(JOB_STATE_RESTARTING, RETRIES_EXHAUSTED, JOB_STATE_ENDING, JobMachine::fail);
    add(JOB_STATE_RESTARTING, PLACEMENT_FAILED, JOB_STATE_ENDING, JobMachine::fail);
    add(JOB_STATE_RESTARTING, WAIT_TIMED_OUT, JOB_STATE_ENDING, JobMachine::fail);
    add(JOB_STATE_RESTARTING, PROOF_TIMED_OUT, JOB_STATE_FAILED, JobMachine::failUnproven);
    add(JOB_STATE_RESTARTING, DATA_LOST, JOB_STATE_ENDING, JobMachine::loseData);
    add(JOB_STATE_RESTARTING, NO_ROWS, JOB_STATE_ENDING, JobMachine::lackRows);
    add(JOB_STATE_RESTARTING, STOP_REQUESTED, JOB_STATE_ENDING, JobMachine::stop);

    for (JobState outcome : List.of(JOB_STATE_SUCCEEDED, JOB_STATE_FAILED, JOB_STATE_STOPPED)) {
      add(JOB_STATE_ENDING, TASKS_TERMINATED, outcome, JobMachine::close);
      add(JOB_STATE_ENDING, PROOF_TIMED_OUT, outcome, JobMachine::closeUnproven);
    }
  }

  private final Job.Builder job;
  private final JobEvent event;
  private final Timestamp now;

  private JobMachine(Job.Builder job, JobEvent event, Timestamp now) {
    this.job = job;
    this.event = event;
    this.now = now;
  }

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
      if (line.applies(job.getState(), event.type, job.getOutcome())) {
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
    line.action.accept(new JobMachine(after, event, now));
    return after.build();
  }

  /** Notes that nothing of the last attempt is left, while the next one cannot begin yet. */
  static Job finishAttempt(Job job, Timestamp now) {
    Job.Builder finished = job.toBuilder();
    finish(finished.getAttemptsBuilder(job.getAttemptsCount() - 1), now);
    return finished.build();
  }

  private static void finish(Attempt.Builder attempt, Timestamp now) {
    if (!attempt.hasFinishedAt()) {
      attempt.setFinishedAt(now);
    }
  }

  /**
   * Adds a line to the table.
   *
   * @throws IllegalArgumentException if a line for the same state and event is there already, or if
   *     the state is final
   */
  static void add(JobState from, JobEvent.Type event, JobState to, Consumer<JobMachine> action) {
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

  // Actions: an attempt begins and runs.

  private void openAttempt() {
    Placement placement = event.placement;
    if (job.getAttemptsCount() > 0) {
      finish(attempt(), now);
      if (attempt().getLastStep() > 0) {
        note(EndPlan.steps(attempt().build()));
      }
    }
    Attempt.Builder attempt =
        Attempt.newBuilder()
            .setNumber(attemptNumber(job) + 1)
            .setPhase(ATTEMPT_PHASE_RESERVE)
            .setAssignmentDigest(placement.digest)
            .setStartedAt(now);
    for (Task task : placement.tasks) {
      attempt.addTasks(
          task.toBuilder().setStatus(TaskStatus.newBuilder().setState(TASK_STATE_PLACED)));
    }
    job.addAttempts(attempt).clearNotBefore();
    Members.set(job, placement.members);
    note(
        "attempt %d begins: %d tasks, %d of them workers beside their partitions (assignment %s)",
        attempt.getNumber(),
        placement.tasks.size(),
        placement.workers(),
        MessageText.shortId(placement.digest));
  }

  private void runTasks() {
    attempt().setPhase(ATTEMPT_PHASE_RUN);
    long rows =
        attempt().getTasksList().stream().mapToLong(task -> task.getStatus().getRows()).sum();
    note("ports are held and %d rows counted; the tasks start", rows);
  }

  private void noteRunning() {
    attempt().setRunningAt(now);
    note("every task runs");
  }

  private void resetCounts() {
    CrashBudget.reset(job);
    note(event.cause);
  }

  private void replaceTask() {
    boolean nodeFailed = event.task.getStatus().getNodeFailed();
    boolean isEvaluator = event.task.getRole() == ROLE_EVALUATOR;
    if (!isEvaluator) {
      if (nodeFailed) {
        CrashBudget.countNodeFailure(job);
      } else {
        CrashBudget.countCrash(job, event.task);
      }
      job.setTraceback(event.task.getStatus().getTraceback());
    }
    Task.Builder task = task();
    TaskStatus failed = task.getStatus();
    task.setIncarnation(task.getIncarnation() + 1)
        .setStatus(
            TaskStatus.newBuilder()
                .setState(TASK_STATE_RESERVED)
                .setAddress(failed.getAddress())
                .setRows(failed.getRows())
                .setProgress(failed.getProgress()));
    String crashes =
        String.format(
            "since crashes (%d) <= max_crashes (%d)",
            job.getCrashes(), CrashBudget.maxCrashes(job.getSpec()));
    note(
        "%s is started again at its address, %s: %s",
        MessageText.name(event.task),
        isEvaluator ? "and the training goes on" : nodeFailed ? "since its node failed" : crashes,
        event.cause);
  }

  private void abandonTask() {
    task().setAbandoned(true);
    note(
        "%s is not started again in attempt %d (it was started %d times, at most %d), and the"
            + " training goes on without it: %s",
        MessageText.name(event.task),
        attemptNumber(job),
        event.task.getIncarnation() + 1,
        CrashBudget.MAX_EVALUATOR_REPLACEMENTS + 1,
        event.cause);
  }

  /** The tasks save after a step that they agree on; then the planned event ends the attempt. */
  private void planEnd() {
    boolean moved = event.planned.type == DATA_MOVED;
    attempt()
        .setPhase(ATTEMPT_PHASE_SAVE)
        .setPlannedEnd(
            PlannedEnd.newBuilder()
                .setRequestedAt(now)
                .setCauseKind(moved ? CAUSE_KIND_DATA_MOVED : CAUSE_KIND_PLANNED)
                .setCause(event.cause));
    note("its tasks save after a common step, then they end: %s", event.cause);
  }

  private void succeed() {
    endAttempt(CAUSE_KIND_DONE, "");
    job.setOutcome(JOB_STATE_SUCCEEDED).clearCause().clearTraceback().setExitCode(0);
    note("the script is done");
  }

  // Actions: the attempt has failed or must end, and another one follows.

  private void timeOutStart() {
    CrashBudget.countNodeFailure(job);
    endForNext(CAUSE_KIND_START_TIMEOUT);
    backOff();
  }

  private void crash() {
    CrashBudget.countCrash(job, event.task);
    endForNext(event.task.getStatus().getStalled() ? CAUSE_KIND_STALL : CAUSE_KIND_CRASH);
    backOff();
  }

  private void failNode() {
    CrashBudget.countNodeFailure(job);
    endForNext(CAUSE_KIND_NODE_FAILED);
    backOff();
  }

  /** The attempt ends through no fault of its tasks, and the next one needs no pause. */
  private void restart(CauseKind kind) {
    endForNext(kind);
    CrashBudget.countRestart(job);
    String idle =
        String.format(
            " (restart %d without a further step, max_restarts %d)",
            job.getIdleRestarts(), CrashBudget.maxRestarts(job.getSpec()));
    note("restarting, since %s%s", event.cause, job.getIdleRestarts() == 0 ? "" : idle);
  }

  private void endForNext(CauseKind kind) {
    endAttempt(kind, event.cause);
    if (event.task != null) {
      TaskStatus status = event.task.getStatus();
      job.setTraceback(status.getTraceback());
      job.setExitCode(status.getExitCode() > 0 ? status.getExitCode() : EXIT_FAILED);
    }
  }

  private void endAttempt(CauseKind kind, String cause) {
    if (attempt().getPhase() != ATTEMPT_PHASE_STOP) {
      attempt().setPhase(ATTEMPT_PHASE_STOP).setEndingAt(now).setCauseKind(kind).setCause(cause);
    }
  }

  private void backOff() {
    long pauseMs = CrashBudget.backOff(job).toMillis();
    job.setNotBefore(Timestamps.add(now, Durations.fromMillis(pauseMs)));
    note(
        "attempt %d %s (%s, %s): %s",
        attemptNumber(job),
        CrashBudget.isCrash(job) ? "crashed" : "ended",
        CrashBudget.count(job),
        CrashBudget.limit(job),
        event.cause);
  }

  // Actions: the failure of a task was the first sign of another cause.

  private void attributeToNode() {
    attribute(CAUSE_KIND_NODE_LEFT);
    CrashBudget.countRestart(job);
  }

  private void attributeToFailure() {
    attribute(CAUSE_KIND_NODE_FAILED);
    CrashBudget.countNodeFailure(job);
    backOff();
  }

  private void attributeToMove() {
    attribute(CAUSE_KIND_DATA_MOVED);
    CrashBudget.countRestart(job);
  }

  private void attribute(CauseKind kind) {
    CrashBudget.uncount(job);
    job.clearNotBefore().clearTraceback();
    attempt().setCauseKind(kind).setCause(event.cause);
    note("not counted as a crash, since %s", event.cause);
  }

  // Actions: the job ends.

  private void loseData() {
    failUncounted(CAUSE_KIND_DATA_LOST);
  }

  private void lackRows() {
    failUncounted(CAUSE_KIND_NO_ROWS);
  }

  /** The failure of a task was an answer about the data, and no crash. */
  private void failUncounted(CauseKind kind) {
    endAttempt(kind, event.cause);
    if (CrashBudget.isCrash(job)) {
      String traceback = job.getTraceback();
      attribute(kind);
      job.setTraceback(traceback);
    }
    fail();
  }

  private void fail() {
    job.setOutcome(JOB_STATE_FAILED).setCause(event.cause);
    if (job.getExitCode() == 0) {
      job.setExitCode(EXIT_FAILED);
    }
    note(event.cause);
  }

  private void failUnplaced() {
    fail();
    job.setFinishedAt(now);
  }

  private void failUnproven() {
    fail();
    leaveUnproven();
  }

  private void stop() {
    endAttempt(CAUSE_KIND_STOP_REQUEST, event.cause);
    job.setOutcome(JOB_STATE_STOPPED).setCause(event.cause).setExitCode(EXIT_STOPPED);
    job.clearTraceback();
    note(event.cause);
  }

  private void stopUnplaced() {
    job.setOutcome(JOB_STATE_STOPPED).setCause(event.cause).setExitCode(EXIT_STOPPED);
    job.setFinishedAt(now);
    note(event.cause);
  }

  private void close() {
    finish(attempt(), now);
    job.setFinishedAt(now);
    String steps = attempt().getLastStep() > 0 ? "; " + EndPlan.steps(attempt().build()) : "";
    note("nothing of the job runs any more%s", steps);
  }

  /** The outcome stays; why a job failed or was stopped comes first. */
  private void closeUnproven() {
    if (!job.getCause().isEmpty()) {
      job.setCause(job.getCause() + "; " + event.cause);
    }
    leaveUnproven();
    note(event.cause);
  }

  private void leaveUnproven() {
    attempt().addAllUnprovenNodeIds(event.nodes);
    job.setFinishedAt(now);
  }

  // Helpers of the actions.

  private Attempt.Builder attempt() {
    return job.getAttemptsBuilder(job.getAttemptsCount() - 1);
  }

  /** The event's task in the row. */
  private Task.Builder task() {
    return attempt().getTasksBuilderList().stream()
        .filter(task -> task.getRole() == event.task.getRole())
        .filter(task -> task.getIndex() == event.task.getIndex())
        .findFirst()
        .get();
  }

  private void note(String text) {
    addEvent(job, now, text);
  }

  private void note(String format, Object... values) {
    note(String.format(format, values));
  }

  /** Adds a line to the history of a job. */
  static void addEvent(Job.Builder job, Timestamp now, String text) {
    int count = job.getEventsCount();
    long last = count == 0 ? 0 : job.getEvents(count - 1).getNumber();
    job.addEvents(
        Event.newBuilder()
            .setNumber(last + 1)
            .setAt(now)
            .setAttempt(attemptNumber(job))
            .setState(job.getState())
            .setText(text));
    if (job.getEventsCount() > MAX_EVENTS) {
      job.removeEvents(0);
    }
  }
}
