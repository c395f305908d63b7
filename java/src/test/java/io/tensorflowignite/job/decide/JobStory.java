package io.tensorflowignite.job.decide;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PARAMETER_SERVER;
import static io.tensorflowignite.v1.JobKind.JOB_KIND_PREDICT;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_STARTING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.CauseKind;
import io.tensorflowignite.v1.EndProgress;
import io.tensorflowignite.v1.Event;
import io.tensorflowignite.v1.FailureKind;
import io.tensorflowignite.v1.Gpu;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskFailure;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A simulated cluster for one job: a test says what nodes report, and checks the job's row. */
final class JobStory {
  static final String NODE_A = "aaaaaaaa-0000-0000-0000-000000000000";

  /** Runs the service and owns no partition. */
  static final String NODE_C = "cccccccc-0000-0000-0000-000000000000";

  static final String NODE_B = "bbbbbbbb-0000-0000-0000-000000000000";

  /** Every transition of every story of this test run. */
  static final Set<String> EXERCISED = new HashSet<>();

  final Map<Node, List<Integer>> owners = new LinkedHashMap<>();
  private final List<Node> members = Arrays.asList(node(NODE_A), node(NODE_B), node(NODE_C));
  private final Set<String> leftInOrder = new HashSet<>();

  /** Nodes whose agents have proved the end of the attempt after the nodes were killed. */
  final Set<String> terminated = new HashSet<>();

  private final Set<String> nodes = new HashSet<>(Arrays.asList(NODE_A, NODE_B, NODE_C));
  private final Map<String, NodeReport> reports = new HashMap<>();
  private final Set<Integer> lost = new HashSet<>();

  /** The attempts that the row has no more. */
  final List<Attempt> ended = new ArrayList<>();

  private final List<Event> earlier = new ArrayList<>();

  private long monotonicMs = 5_000;
  private long clockMs = 1_000_000;
  private JobClock clock = newClock();
  private boolean mapChanges;

  /** What the placement waits for, since other jobs have its GPUs; null: nothing. */
  String gpus;

  /** Whether the job has not been admitted. */
  boolean queued;

  Job job;

  private static final ClusterSettings SETTINGS = new TensorFlowService().settings();

  JobStory(JobKind kind) {
    owners.put(node(NODE_A), Arrays.asList(0, 2));
    owners.put(node(NODE_B), Arrays.asList(1, 3));
    job =
        Job.newBuilder()
            .setId("7f3a0000")
            .setState(JOB_STATE_PENDING)
            .setCreatedAt(Timestamps.fromMillis(clockMs))
            .setSpec(
                JobSpec.newBuilder()
                    .setStrategy(Strategy.newBuilder().setKind(kind))
                    .setCache("digits"))
            .build();
  }

  static JobStory mirrored() {
    return new JobStory(JOB_KIND_MULTI_WORKER_MIRRORED);
  }

  static JobStory predict() {
    return new JobStory(JOB_KIND_PREDICT);
  }

  static JobStory parameterServer() {
    return new JobStory(JOB_KIND_PARAMETER_SERVER);
  }

  static JobStory reserving() {
    return mirrored().observe().is(JOB_STATE_RESERVING);
  }

  static JobStory starting() {
    return reserving().all(TASK_STATE_RESERVED).is(JOB_STATE_STARTING);
  }

  static JobStory running() {
    return mirrored().runs();
  }

  static JobStory running(Consumer<JobSpec.Builder> change) {
    return mirrored().withSpec(change).runs();
  }

  /** A job in each state in which an attempt goes on. */
  static List<JobStory> active() {
    return List.of(reserving(), starting(), running());
  }

  static TaskStatus.Builder status(TaskState state) {
    return TaskStatus.newBuilder().setState(state);
  }

  static TaskStatus.Builder failed(String error) {
    return status(TASK_STATE_FAILED).setExitCode(1).setError(error);
  }

  /** A script that an exception has ended. */
  static TaskStatus.Builder raised(FailureKind kind, String type, String text) {
    TaskFailure.Builder failure =
        TaskFailure.newBuilder().setKind(kind).setExceptionClass(type).setExceptionText(text);
    return failed("exited with code 1: " + type + ": " + text).setFailure(failure);
  }

  static TaskStatus.Builder atStep(long step, long resumedFrom) {
    return status(TASK_STATE_RUNNING)
        .setProgress(Progress.newBuilder().setStep(step).setResumedFromStep(resumedFrom));
  }

  /** Observes a cluster in which an attempt could start, unless the partition map changes. */
  JobStory observe() {
    if (mapChanges) {
      return observe(PlacementResult.waitFor("the partition map to stay the same"));
    }
    PlacementResult placed =
        PlacementResult.of(
            Placement.of(
                job.getSpec(), owners, List.copyOf(owners.keySet()), node(NODE_B), here()));
    return observe(gpus == null ? placed : placed.waitForGpus(gpus));
  }

  private List<Node> here() {
    return members.stream()
        .filter(member -> nodes.contains(member.getId()))
        .collect(Collectors.toList());
  }

  JobStory observe(PlacementResult placement) {
    job =
        JobObserver.step(
            job,
            new Observation(
                Timestamps.fromMillis(clockMs),
                clock,
                nodes,
                nodes.stream().map(JobStory::consistentId).collect(Collectors.toSet()),
                leftInOrder,
                terminated,
                reports,
                lost,
                placement,
                JobTimeouts.of(job.getSpec(), SETTINGS),
                queued),
            transition -> EXERCISED.add(transition.toString()));
    forgetEarlierAttempts();
    return this;
  }

  /** As the table does: a row has the newest attempt alone, and the events since its begin. */
  private void forgetEarlierAttempts() {
    if (job.getAttemptsCount() < 2) {
      return;
    }
    Attempt newest = attempt();
    ended.addAll(job.getAttemptsList().subList(0, job.getAttemptsCount() - 1));
    Job.Builder row = job.toBuilder().clearAttempts().addAttempts(newest).clearEvents();
    for (Event event : job.getEventsList()) {
      if (event.getAttempt() == newest.getNumber()) {
        row.addEvents(event);
      } else {
        earlier.add(event);
      }
    }
    job = row.build();
  }

  List<Event> events() {
    List<Event> events = new ArrayList<>(earlier);
    events.addAll(job.getEventsList());
    return events;
  }

  JobStory wait(int seconds) {
    return passes(seconds).observe();
  }

  /** Requires a state. */
  JobStory is(JobState expected) {
    assertEquals(expected, job.getState());
    return this;
  }

  /** Requires what the job waits for. */
  JobStory waitsFor(String expected) {
    assertEquals(expected, job.getWaitingFor());
    return this;
  }

  /** Requires a part of the cause of the job's end. */
  JobStory cause(String part) {
    return contains(job.getCause(), part);
  }

  /** Requires why the newest attempt has ended. */
  JobStory attemptCause(CauseKind kind, String part) {
    assertEquals(kind, attempt().getCauseKind());
    return contains(attempt().getCause(), part);
  }

  JobStory attemptCause(CauseKind kind) {
    return attemptCause(kind, "");
  }

  /** Requires a part of all events, also of those that the row has no more. */
  JobStory history(String part) {
    String texts = events().stream().map(Event::getText).collect(Collectors.joining("\n"));
    return contains(texts, part);
  }

  /** Requires the numbers of crashes and of failures of nodes in a row. */
  JobStory counts(int crashes, int nodeFailures) {
    assertEquals(crashes, job.getCrashes());
    assertEquals(nodeFailures, job.getNodeFailures());
    return this;
  }

  private JobStory contains(String text, String part) {
    assertTrue(text, text.contains(part));
    return this;
  }

  /** Time passes without an observation. */
  JobStory passes(int seconds) {
    clockMs += seconds * 1000L;
    monotonicMs += seconds * 1000L;
    return this;
  }

  /** Somebody sets the clock of the service's node. */
  JobStory clockIsSet(int seconds) {
    clockMs += seconds * 1000L;
    return this;
  }

  /** Another node, whose clock differs, takes the job's service over. */
  JobStory serviceMoves(int clockDifference) {
    clock = newClock();
    return clockIsSet(clockDifference).observe();
  }

  private JobClock newClock() {
    return new JobClock(() -> TimeUnit.MILLISECONDS.toNanos(monotonicMs));
  }

  JobStory stopRequested() {
    job = job.toBuilder().setStopRequested(true).build();
    return observe();
  }

  JobStory forceStopRequested() {
    job = job.toBuilder().setForceStopRequested(true).build();
    return stopRequested();
  }

  JobStory stopWithSaveRequested() {
    job = job.toBuilder().setSaveRequested(true).build();
    return stopRequested();
  }

  /** A worker reports how far the planned end has come, and the step of the last checkpoint. */
  JobStory worker(int index, long step, boolean saved, long checkpointStep) {
    EndProgress end = EndProgress.newBuilder().setReady(true).setStep(step).setSaved(saved).build();
    Progress progress =
        Progress.newBuilder()
            .setStep(Math.max(step, checkpointStep))
            .setCheckpointStep(checkpointStep)
            .setEnd(end)
            .build();
    return task(Role.ROLE_WORKER, index, status(TASK_STATE_RUNNING).setProgress(progress));
  }

  /** A node is stopped: it ends its tasks, leaves the job's members and then the cluster. */
  JobStory nodeStops(String node) {
    Set<String> here = nodes.stream().map(JobStory::consistentId).collect(Collectors.toSet());
    job = Members.leave(job, consistentId(node), here);
    leftInOrder.add(node);
    return nodeLeaves(node);
  }

  /** A node that was stopped or killed is started again: its id is another. */
  JobStory nodeIsBack(String node) {
    String other = node.substring(0, 8) + "-1111-1111-1111-111111111111";
    nodes.add(other);
    return observe();
  }

  /** A caller accepts that only these nodes are members from now on. */
  JobStory quorumAccepted(String... here) {
    List<Node> live = Arrays.stream(here).map(JobStory::node).collect(Collectors.toList());
    job = Members.accept(job, live, "root", Timestamps.fromMillis(clockMs));
    return observe();
  }

  /** The partition map changes until the data have moved. */
  JobStory mapChanges() {
    mapChanges = true;
    return this;
  }

  /** Primary partitions move to a node. */
  JobStory dataMoves(String node, Integer... partitions) {
    mapChanges = false;
    owners.put(node(node), Arrays.asList(partitions));
    return observe();
  }

  JobStory partitionsAreLost(Integer... partitions) {
    lost.addAll(Arrays.asList(partitions));
    return observe();
  }

  JobStory withSpec(Consumer<JobSpec.Builder> change) {
    JobSpec.Builder spec = job.getSpec().toBuilder();
    change.accept(spec);
    job = job.toBuilder().setSpec(spec).build();
    return this;
  }

  JobStory nodeLeaves(String node) {
    nodes.remove(node);
    return observe();
  }

  /** A node is killed, and another one has the copies of its partitions. */
  JobStory nodeIsLost(String node) {
    owners.remove(node(node));
    return nodeLeaves(node);
  }

  JobStory nodeFails(String node, String why) {
    reports.put(node, report(node).setError(why).build());
    return observe();
  }

  JobStory all(TaskState state) {
    return all(status(state));
  }

  JobStory all(TaskStatus.Builder status) {
    for (Task task : attempt().getTasksList()) {
      report(task, status);
    }
    return observe();
  }

  JobStory task(Role role, int index, TaskState state) {
    return task(role, index, status(state));
  }

  JobStory task(Role role, int index, TaskStatus.Builder status) {
    report(find(role, index), status);
    return observe();
  }

  /** Reports without an observation, so that one observation has several reports. */
  JobStory meanwhile(Role role, int index, TaskStatus.Builder status) {
    report(find(role, index), status);
    return this;
  }

  JobStory provesTermination(String... which) {
    for (String node : which) {
      reports.put(node, report(node).setReached(ATTEMPT_PHASE_STOP).build());
    }
    return observe();
  }

  /** The nodes of both workers prove the end of the attempt. */
  JobStory terminates() {
    return provesTermination(NODE_A, NODE_B);
  }

  /** From the submission until all tasks run. */
  JobStory runs() {
    return observe().startAndRun().is(JOB_STATE_RUNNING);
  }

  JobStory startAndRun() {
    return all(TASK_STATE_RESERVED).all(TASK_STATE_RUNNING);
  }

  JobStory crashes(Role role, int index) {
    return crashes(role, index, failed("exited with code 3 (ValueError: no)"));
  }

  JobStory crashes(Role role, int index, TaskStatus.Builder failed) {
    String traceback = "Traceback …\nValueError: no";
    return task(role, index, failed.setExitCode(3).setTraceback(traceback));
  }

  Attempt attempt() {
    return job.getAttempts(job.getAttemptsCount() - 1);
  }

  Task find(Role role, int index) {
    return attempt().getTasksList().stream()
        .filter(task -> task.getRole() == role && task.getIndex() == index)
        .findFirst()
        .orElseThrow(AssertionError::new);
  }

  private void report(Task task, TaskStatus.Builder status) {
    NodeReport.Builder report = report(task.getNodeId());
    for (int i = 0; i < report.getTasksCount(); i++) {
      Task known = report.getTasks(i);
      if (known.getRole() == task.getRole() && known.getIndex() == task.getIndex()) {
        report.removeTasks(i);
        break;
      }
    }
    report.addTasks(task.toBuilder().setStatus(status));
    reports.put(task.getNodeId(), report.build());
  }

  private NodeReport.Builder report(String node) {
    NodeReport known = reports.get(node);
    return known != null && known.getAttempt() == attempt().getNumber()
        ? known.toBuilder()
        : NodeReport.newBuilder().setNodeId(node).setAttempt(attempt().getNumber());
  }

  static Node node(String id) {
    return Node.newBuilder()
        .setId(id)
        .setConsistentId(consistentId(id))
        .setOrder(id.charAt(0))
        .addGpus(Gpu.newBuilder().setId("0"))
        .setAddress("127.0.0.1:1")
        .build();
  }

  private static String consistentId(String id) {
    return id.substring(0, 8);
  }
}
