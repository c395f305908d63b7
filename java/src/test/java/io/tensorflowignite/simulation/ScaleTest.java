package io.tensorflowignite.simulation;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RESERVING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_FAILED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RESERVED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_RUNNING;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_STOPPED;
import static io.tensorflowignite.v1.TaskState.TASK_STATE_SUCCEEDED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.Timestamps;
import com.sun.management.ThreadMXBean;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.job.decide.JobClock;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobObserver;
import io.tensorflowignite.job.decide.JobTimeouts;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.job.decide.Observation;
import io.tensorflowignite.job.decide.Placement;
import io.tensorflowignite.job.decide.PlacementResult;
import io.tensorflowignite.job.decide.ReportThrottle;
import io.tensorflowignite.job.decide.RowWrites;
import io.tensorflowignite.table.JobHistory;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.Progress;
import io.tensorflowignite.v1.ReportReceipt;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.TaskStatus;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/**
 * What jobs of several sizes cost in a cluster of 1,000 nodes: messages, bytes, and the work of the
 * decisions. Each number is counted with the rules and the messages of real nodes, and the bounds
 * are for each event. A part of 10,000 jobs is run, the rest of the same sizes would count the
 * same; {@code SIMULATION_JOBS=10000} runs all of them.
 *
 * <p>Promise (jobs): The cost of an event grows only with the tasks of its job.
 */
public class ScaleTest {
  private static final int NODES = 1_000;
  private static final int ALL_JOBS = 10_000;
  private static final int ATTEMPTS = 4;
  private static final int PARTITIONS = 1_024;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static final List<Node> MEMBERS = new ArrayList<>();

  static {
    for (int i = 0; i < NODES; i++) {
      MEMBERS.add(
          Node.newBuilder()
              .setId(new UUID(i, i).toString())
              .setConsistentId(new UUID(-i, i).toString())
              .setOrder(i + 1)
              .setAddress("10.20.30." + i + ":10900")
              .setHostName("node-" + i + ".cluster.local")
              .setPluginVersion("0.1.0")
              .build());
    }
  }

  /** Counts the questions of the decisions about nodes: about one for each task that they read. */
  private static final class CountingSet extends HashSet<String> {
    private static final long serialVersionUID = 1L;
    long questions;

    @Override
    public boolean contains(Object element) {
      questions++;
      return super.contains(element);
    }
  }

  /** The cost of one kind of event of jobs of one size. */
  private static final class Cost {
    long events;
    long passes;
    long reads;
    long allocated;
    long writes;
    long rowBytes;
    long reports;
    long reportBytes;
  }

  /** One job, its service, and the nodes with its tasks. */
  private final class ScaledJob {
    private final int tasks;
    private final Placement placement;
    private final CountingSet nodes = new CountingSet();
    private final Set<String> consistentIds = new HashSet<>();
    private final JobClock clock = new JobClock(() -> nanos);
    private final RowWrites writes = new RowWrites(nanos);
    private final Map<String, NodeReport> reports = new HashMap<>();
    private final Map<String, NodeReport> local = new LinkedHashMap<>();
    private final Map<String, ReportThrottle> throttles = new HashMap<>();
    private final List<Integer> sizes = new ArrayList<>();
    private long step;
    private boolean watched;
    private Cost cost;
    private Job row;

    ScaledJob(String id, int tasks, JobKind kind) {
      this.tasks = tasks;
      JobSpec spec =
          JobSpec.newBuilder()
              .setStrategy(Strategy.newBuilder().setKind(kind))
              .setCache("rows")
              .build();
      int workers = kind == JobKind.JOB_KIND_PARAMETER_SERVER ? tasks - 2 : tasks;
      Map<Node, List<Integer>> owners = new LinkedHashMap<>();
      for (int i = 0; i < workers; i++) {
        owners.put(MEMBERS.get(i), new ArrayList<>());
      }
      List<List<Integer>> lists = new ArrayList<>(owners.values());
      for (int i = 0; i < PARTITIONS; i++) {
        lists.get(i % workers).add(i);
      }
      this.placement = Placement.of(spec, owners, MEMBERS, MEMBERS.get(0), MEMBERS);
      MEMBERS.forEach(
          node -> {
            nodes.add(node.getId());
            consistentIds.add(node.getConsistentId());
          });
      Job.Builder job =
          Job.newBuilder()
              .setId(id)
              .setLayout(JobLayout.CURRENT)
              .setState(JOB_STATE_PENDING)
              .setCreatedAt(Timestamps.fromMillis(millis()))
              .setSpec(spec)
              .setServiceNodeId(MEMBERS.get(0).getId());
      Members.set(job, MEMBERS);
      row = job.build();
    }

    /** A pass of the service, which is one event. */
    private void pass() {
      Observation observation =
          new Observation(
              Timestamps.fromMillis(millis()),
              clock,
              nodes,
              consistentIds,
              Set.of(),
              Set.of(),
              reports,
              Set.of(),
              PlacementResult.of(placement),
              JobTimeouts.of(row.getSpec(), SimulatedCluster.SETTINGS),
              false);
      List<JobMachine.Transition> transitions = new ArrayList<>();
      long questions = nodes.questions;
      long before = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
      Job observed = JobObserver.step(row, observation, transitions::add);
      long allocated = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
      cost.passes++;
      cost.reads += nodes.questions - questions;
      cost.allocated += allocated;
      if (writes.isDue(row, observed, !transitions.isEmpty(), nanos)) {
        row = JobHistory.withNewestAttempt(observed);
        cost.writes++;
        cost.rowBytes += row.getSerializedSize();
      }
      reports.values().removeIf(report -> report.getAttempt() < JobMachine.attemptNumber(row));
    }

    /** Each node offers its report; those that are due are sent, and answered. */
    private void offer() {
      for (NodeReport report : local.values()) {
        ReportThrottle throttle =
            throttles.computeIfAbsent(report.getNodeId(), id -> new ReportThrottle());
        if (throttle.isDue(report, row.getServiceNodeId(), nanos)) {
          NodeReport sent = throttle.report();
          cost.reports++;
          cost.reportBytes += sent.getSerializedSize();
          reports.put(sent.getNodeId(), sent);
          throttle.confirm(
              ReportReceipt.newBuilder()
                  .setRevision(sent.getRevision())
                  .setWatched(watched)
                  .build());
        }
      }
    }

    private void report(TaskState state, AttemptPhase reached) {
      local.clear();
      Map<String, NodeReport.Builder> byNode = new LinkedHashMap<>();
      for (Task task : JobMachine.attempt(row).getTasksList()) {
        byNode
            .computeIfAbsent(
                task.getNodeId(),
                node ->
                    NodeReport.newBuilder()
                        .setJobId(row.getId())
                        .setAttempt(JobMachine.attemptNumber(row))
                        .setReached(reached)
                        .setNodeId(node))
            .addTasks(task.toBuilder().setStatus(status(state)));
      }
      byNode.forEach((node, report) -> local.put(node, report.build()));
    }

    private TaskStatus.Builder status(TaskState state) {
      return TaskStatus.newBuilder()
          .setState(state)
          .setAddress("10.20.30.40:50000")
          .setRows(1_000)
          .setPid(12_345)
          .setTokenDigest(ByteString.copyFrom(new byte[32]))
          .setProgress(Progress.newBuilder().setStep(step));
    }

    private void event(String kind, Runnable action) {
      cost = costs.get(tasks).computeIfAbsent(kind, key -> new Cost());
      cost.events++;
      action.run();
    }

    void run() {
      event("placed", this::pass);
      for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
        assertEquals(JOB_STATE_RESERVING, row.getState());
        throttles.clear();
        step = 0;
        report(TASK_STATE_RESERVED, AttemptPhase.ATTEMPT_PHASE_RESERVE);
        event("reserved", this::offerAndPass);
        report(TASK_STATE_RUNNING, AttemptPhase.ATTEMPT_PHASE_RUN);
        event("started", this::offerAndPass);
        assertEquals(JOB_STATE_RUNNING, row.getState());
        sizes.add(row.getSerializedSize());
        runFor("10 s running", 10, false);
        runFor("10 s watched", 10, true);
        end(attempt);
      }
      assertEquals(JOB_STATE_SUCCEEDED, row.getState());
    }

    /** Progress comes all the time; the node's passes are every second. */
    private void runFor(String kind, int seconds, boolean isWatched) {
      watched = isWatched;
      // Until the receipts have said so.
      cost = new Cost();
      runSeconds(7);
      event(kind, () -> runSeconds(seconds));
    }

    private void runSeconds(int seconds) {
      for (int i = 0; i < seconds; i++) {
        pass(1_000);
        step++;
        report(TASK_STATE_RUNNING, AttemptPhase.ATTEMPT_PHASE_RUN);
        offerAndPass();
      }
    }

    private void end(int attempt) {
      watched = false;
      if (attempt == ATTEMPTS) {
        report(TASK_STATE_SUCCEEDED, AttemptPhase.ATTEMPT_PHASE_RUN);
        event("succeeded", this::offerAndPass);
        report(TASK_STATE_SUCCEEDED, ATTEMPT_PHASE_STOP);
        event("terminated", this::offerAndPass);
        return;
      }
      Map.Entry<String, NodeReport> first = local.entrySet().iterator().next();
      NodeReport.Builder failed = first.getValue().toBuilder();
      failed
          .getTasksBuilder(0)
          .setStatus(status(TASK_STATE_FAILED).setExitCode(1).setNodeFailed(true));
      local.put(first.getKey(), failed.build());
      event("failed", this::offerAndPass);
      report(TASK_STATE_STOPPED, ATTEMPT_PHASE_STOP);
      event("terminated", this::offerAndPass);
      pass(40_000);
      event("placed", this::pass);
    }

    private void offerAndPass() {
      offer();
      pass();
    }

    private void pass(long millis) {
      nanos += TimeUnit.MILLISECONDS.toNanos(millis);
    }
  }

  private long nanos = TimeUnit.SECONDS.toNanos(1_000);
  private final Map<Integer, Map<String, Cost>> costs = new LinkedHashMap<>();

  private long millis() {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  @Test
  public void theCostOfAnEventGrowsWithTheTasksOfItsJobAlone() {
    String value = System.getenv().getOrDefault("SIMULATION_JOBS", "");
    int all = value.isEmpty() ? 200 : Integer.parseInt(value);
    runJobs(4, 9_700 * all / ALL_JOBS);
    runJobs(100, 290 * all / ALL_JOBS);
    runJobs(1_000, Math.max(1, 10 * all / ALL_JOBS));
    print();
    costs.forEach((tasks, kinds) -> kinds.forEach((kind, cost) -> verify(tasks, kind, cost)));
    verifyGrowth();
  }

  private void runJobs(int tasks, int count) {
    costs.put(tasks, new LinkedHashMap<>());
    for (int i = 0; i < count; i++) {
      ScaledJob job = new ScaledJob(tasks + "-" + i, tasks, kind(i));
      job.run();
      verifySizes(job);
    }
  }

  private static JobKind kind(int number) {
    return number % 3 == 2
        ? JobKind.JOB_KIND_PARAMETER_SERVER
        : JobKind.JOB_KIND_MULTI_WORKER_MIRRORED;
  }

  /** A row has parts for tasks, partitions and members, and none for attempts. */
  private static void verifySizes(ScaledJob job) {
    int bound = 4_000 + 220 * job.tasks + 4 * PARTITIONS + 170 * NODES;
    for (int size : job.sizes) {
      assertTrue("a row of " + size + " bytes", size <= bound);
      assertTrue("an attempt makes the row larger", size <= job.sizes.get(0) + 500);
    }
  }

  private void verify(int tasks, String kind, Cost cost) {
    String what = tasks + " tasks, " + kind + ": ";
    double reads = (double) cost.reads / cost.passes;
    assertTrue(what + reads + " reads of nodes", reads <= 10 + 12.0 * tasks);
    double perEvent = (double) cost.reports / cost.events;
    boolean lasts = kind.startsWith("10 s");
    double rate = perEvent / 10 / nodesOf(tasks);
    if (lasts) {
      double limit = kind.endsWith("watched") ? 1.0 : 0.2;
      assertTrue(what + rate + " reports of a node in a second", rate <= limit + 0.001);
      assertEquals(what + "writes", 0, cost.writes);
    } else {
      assertTrue(what + perEvent + " reports", perEvent <= nodesOf(tasks));
      assertTrue(what + cost.writes + " writes", cost.writes <= 2 * cost.events);
    }
    assertTrue(what + "bytes of reports", cost.reportBytes <= cost.reports * 1_500);
  }

  private static int nodesOf(int tasks) {
    return Math.min(tasks, NODES);
  }

  /** The work for a task does not grow with the number of tasks. */
  private void verifyGrowth() {
    for (String kind : costs.get(100).keySet()) {
      double small = allocatedForATask(100, kind);
      double large = allocatedForATask(1_000, kind);
      assertTrue(
          String.format("%s: %.0f bytes for a task of 1,000, %.0f of 100", kind, large, small),
          large <= 2 * small + 1_000);
    }
  }

  private double allocatedForATask(int tasks, String kind) {
    Cost cost = costs.get(tasks).get(kind);
    return (double) cost.allocated / cost.passes / tasks;
  }

  private void print() {
    System.out.printf("%nOne event of a job in a cluster of %,d nodes, on the average%n", NODES);
    System.out.println("rows: transactions to all nodes; reads: of nodes, a pass");
    String line = "%5s %-13s %7s %8s %7s %8s %7s %8s %8s%n";
    System.out.printf(
        line, "tasks", "event", "rows", "kB a row", "reports", "kB", "passes", "reads", "kB made");
    costs.forEach(
        (tasks, kinds) ->
            kinds.forEach(
                (kind, cost) ->
                    System.out.printf(
                        line,
                        tasks,
                        kind,
                        average(cost.writes, cost.events),
                        average(cost.rowBytes, 1_000 * cost.writes),
                        average(cost.reports, cost.events),
                        average(cost.reportBytes, 1_000 * cost.events),
                        average(cost.passes, cost.events),
                        average(cost.reads, cost.passes),
                        average(cost.allocated, 1_000 * cost.passes))));
  }

  private static String average(long sum, long count) {
    return String.format("%.1f", count == 0 ? 0 : (double) sum / count);
  }
}
