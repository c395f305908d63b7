package io.tensorflowignite.simulation;

import io.tensorflowignite.agent.SimulatedRunner;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.lease.Contacts;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeAvailability;
import io.tensorflowignite.v1.NodeReport;
import io.tensorflowignite.v1.ReportReceipt;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A node, from its start to its end: what it knows of the cluster and of the job table, its part of
 * the rounds of contacts, its runner with an agent, and the services of jobs that it hosts. What
 * happens to it while it stands still happens when it goes on.
 */
final class SimulatedNode {
  static final Duration LEASE = Duration.ofSeconds(6);
  private static final Duration ROUND = LEASE.dividedBy(12);
  private static final long CALL_MS = LEASE.dividedBy(4).toMillis();
  private static final long HEARTBEAT_MS = LEASE.dividedBy(5).toMillis();
  private static final long TICK_MS = 1_000;
  private static final long AGENT_PAUSE_MS = 2_000;

  private final Simulation simulation;
  private final SimulatedCluster cluster;
  final int host;
  private final Node node;
  final Contacts contacts;
  final SimulatedRunner runner;

  /** The other nodes of the topology and this one, as this node knows it. */
  final Map<String, SimulatedNode> view = new LinkedHashMap<>();

  final Set<String> leftInOrder = new HashSet<>();
  long viewChangedAt;

  /** This node's copy of the job table. */
  private final Map<String, Job> rows = new LinkedHashMap<>();

  private final Map<String, Long> versions = new LinkedHashMap<>();
  private final Map<String, SimulatedService> services = new LinkedHashMap<>();
  private final long offset;
  SimulatedCell cell;
  SimulatedAgent agent;
  private SimulatedAgent starting;
  private long agentAnsweredAt;
  private boolean alive = true;
  boolean leaving;
  private boolean passPending;
  private long frozenUntil;
  private long runnerPausedUntil;
  private final Map<SimulatedNode, Long> arrivals = new HashMap<>();
  private Set<String> answered = Set.of();
  private final Set<String> pending = new HashSet<>();

  SimulatedNode(Simulation simulation, SimulatedCluster cluster, int host, int order) {
    this.simulation = simulation;
    this.cluster = cluster;
    this.host = host;
    this.node =
        Node.newBuilder()
            .setId(String.format("%c%d", 'a' + host, order))
            .setConsistentId(String.valueOf((char) ('a' + host)))
            .setOrder(order)
            .setAddress("10.0.0." + host + ":1")
            .build();
    this.offset = TimeUnit.SECONDS.toNanos(simulation.between(0, 100_000));
    this.contacts = new Contacts(node.getConsistentId(), LEASE, this::nanos);
    this.runner =
        new SimulatedRunner(
            node.getId(), contacts, this::nanos, this::clockMillis, () -> agent, this::sendReport);
    startAgent(50);
    after(simulation.between(0, 500), this::round);
    after(simulation.between(0, 1_000), this::tick);
  }

  String id() {
    return node.getId();
  }

  String consistentId() {
    return node.getConsistentId();
  }

  Node node() {
    return leaving
        ? node.toBuilder().setAvailability(NodeAvailability.NODE_AVAILABILITY_STOPPING).build()
        : node;
  }

  long order() {
    return node.getOrder();
  }

  boolean isAlive() {
    return alive;
  }

  boolean isFrozen() {
    return frozenUntil > simulation.nanos();
  }

  /** Whether it and its agent can take tasks. */
  boolean hasAgent() {
    return agent != null;
  }

  /** The monotonic clock of its host; the agent has the same, see {@link #at}. */
  long nanos() {
    return simulation.nanos();
  }

  /** The clock of its host, which others do not agree with. */
  long clockMillis() {
    return TimeUnit.NANOSECONDS.toMillis(simulation.nanos() + offset);
  }

  /** Runs an action of this node, when it does not stand still. */
  void after(long millis, Runnable action) {
    simulation.after(millis, () -> now(action));
  }

  private void now(Runnable action) {
    if (!alive) {
      return;
    }
    if (isFrozen()) {
      simulation.at(frozenUntil, () -> now(action));
    } else {
      action.run();
    }
  }

  /** Sends a message, which may be late; one of another part of a cut network may come after it. */
  void send(SimulatedNode to, Runnable arrival) {
    long delay = cluster.delay(this, to);
    if (delay >= 0) {
      // One connection: messages do not overtake each other.
      long at =
          Math.max(
              arrivals.getOrDefault(to, 0L),
              simulation.nanos() + TimeUnit.MILLISECONDS.toNanos(delay));
      arrivals.put(to, at);
      simulation.at(at, () -> to.now(() -> to.take(this, arrival)));
    }
  }

  private void take(SimulatedNode from, Runnable arrival) {
    if (view.containsKey(from.id())) {
      arrival.run();
    }
  }

  // The agent.

  private void startAgent(long delay) {
    after(
        delay,
        () -> {
          SimulatedAgent before = starting;
          starting = cluster.newAgent(this);
          if (before != null) {
            before.endNow();
          }
          agent = starting;
          agentAnsweredAt = simulation.nanos();
          heartbeat(agent);
          wake();
        });
  }

  private void heartbeat(SimulatedAgent current) {
    if (agent != current) {
      return;
    }
    if (current.hasEnded()) {
      loseAgent();
      return;
    }
    if (current.heartbeat(runner)) {
      agentAnsweredAt = simulation.nanos();
    } else if (simulation.nanos() - agentAnsweredAt >= 2 * LEASE.toNanos()) {
      current.endNow();
      loseAgent();
      return;
    }
    after(HEARTBEAT_MS, () -> heartbeat(current));
  }

  private void loseAgent() {
    simulation.log("%s has lost its agent", id());
    agent = null;
    runner.agentLost();
    wake();
    startAgent(AGENT_PAUSE_MS);
  }

  void agentEvent(TaskKey task, TaskStatus status) {
    runner.observe(task, status);
    wake();
  }

  void proven(Runnable action) {
    action.run();
    wake();
  }

  void peersFail(TaskKey task, String attempt) {
    cluster.peersFail(this, task, attempt);
  }

  // The runner.

  /** Its next pass comes soon. */
  void wake() {
    if (!passPending) {
      passPending = true;
      after(1, this::pass);
    }
  }

  private void pass() {
    if (runnerPausedUntil > simulation.nanos()) {
      simulation.at(runnerPausedUntil, () -> now(this::pass));
      return;
    }
    passPending = false;
    List<Job> here = new ArrayList<>();
    for (Job row : rows.values()) {
      if (!row.hasFinishedAt()
          && row.getAttemptsCount() > 0
          && JobMachine.attempt(row).getTasksList().stream()
              .anyMatch(task -> task.getNodeId().equals(id()))) {
        here.add(row);
      }
    }
    if (!here.isEmpty() || runner.attempts() > 0) {
      runner.pass(here);
    }
  }

  private void tick() {
    wake();
    after(TICK_MS, this::tick);
  }

  private void sendReport(NodeReport report, String receiver) {
    SimulatedNode to = view.get(receiver);
    if (to == null || simulation.chance(cluster.lossOfReports())) {
      return;
    }
    send(to, () -> to.takeReport(this, report));
    if (simulation.chance(cluster.lossOfReports())) {
      send(to, () -> to.takeReport(this, report));
    }
  }

  private void takeReport(SimulatedNode from, NodeReport report) {
    SimulatedService service = services.get(report.getJobId());
    if (service == null) {
      return;
    }
    service.add(report);
    ReportReceipt receipt =
        ReportReceipt.newBuilder()
            .setJobId(report.getJobId())
            .setAttempt(report.getAttempt())
            .setRevision(report.getRevision())
            .build();
    if (view.containsKey(from.id()) && !simulation.chance(cluster.lossOfReports())) {
      send(from, () -> from.runner.confirm(receipt));
    }
  }

  // The job table.

  /** This node's copy of a row; null: there is none. */
  Job row(String job) {
    return rows.get(job);
  }

  /** A committed row; null: it was removed. */
  void put(String job, Job row, long version) {
    if (versions.getOrDefault(job, -1L) >= version) {
      return;
    }
    versions.put(job, version);
    if (row == null) {
      rows.remove(job);
    } else {
      rows.put(job, row);
    }
    SimulatedService service = services.get(job);
    if (service != null) {
      service.wake();
    }
    wake();
  }

  // The services of jobs.

  boolean serves(String job) {
    return services.containsKey(job);
  }

  void serve(String job) {
    if (!services.containsKey(job)) {
      simulation.log("%s serves job %s", id(), job);
      services.put(job, new SimulatedService(simulation, cluster, this, job));
    }
  }

  void cancelService(String job) {
    SimulatedService service = services.remove(job);
    if (service != null) {
      service.cancel();
    }
  }

  // The topology.

  void see(SimulatedNode other) {
    view.put(other.id(), other);
    viewChanged();
  }

  void forget(SimulatedNode other, boolean inOrder) {
    if (inOrder) {
      leftInOrder.add(other.id());
    }
    if (view.remove(other.id()) != null) {
      viewChanged();
    }
  }

  private void viewChanged() {
    viewChangedAt = simulation.nanos();
    services.values().forEach(SimulatedService::wake);
    wake();
  }

  /** The nodes of this node's view, in the order in which they joined. */
  List<SimulatedNode> live() {
    return view.values().stream()
        .sorted(Comparator.comparingLong(SimulatedNode::order))
        .collect(Collectors.toList());
  }

  // The rounds of contacts.

  private void round() {
    List<SimulatedNode> live = live();
    List<String> ids = live.stream().map(SimulatedNode::consistentId).collect(Collectors.toList());
    if (!contacts.isCaller(ids, ROUND, Duration.ofDays(1))) {
      answered = Set.of();
      after(ROUND.toMillis(), this::round);
      return;
    }
    contacts.add(consistentId(), answered);
    new Round(live).call();
  }

  /** Calls of all nodes; those that do not answer are called again when the call has timed out. */
  private final class Round {
    private final long begin = simulation.nanos();
    private final Set<String> answers = new LinkedHashSet<>();
    private final List<SimulatedNode> others;
    private final Set<String> last = answered;
    private int open;
    private boolean over;

    Round(List<SimulatedNode> live) {
      this.others =
          live.stream()
              .filter(other -> other != SimulatedNode.this && pending.add(other.id()))
              .collect(Collectors.toList());
      this.open = others.size();
    }

    void call() {
      for (SimulatedNode other : others) {
        send(
            other,
            () -> {
              other.contacts.add(consistentId(), last);
              other.send(SimulatedNode.this, () -> answer(other));
            });
      }
      after(CALL_MS, this::end);
      if (open == 0) {
        end();
      }
    }

    private void answer(SimulatedNode other) {
      if (over) {
        return;
      }
      answers.add(other.consistentId());
      pending.remove(other.id());
      open--;
      if (open == 0) {
        end();
      }
    }

    private void end() {
      if (over) {
        return;
      }
      over = true;
      others.forEach(other -> pending.remove(other.id()));
      answered = answers;
      long rest = ROUND.minusNanos(simulation.nanos() - begin).toMillis();
      after(Math.max(1, rest), SimulatedNode.this::round);
    }
  }

  // Faults.

  void freeze(long millis) {
    frozenUntil = simulation.nanos() + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  void pauseRunner(long millis) {
    runnerPausedUntil = simulation.nanos() + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** The process of the node ends; its agent notices that, or ends with the machine. */
  void end(boolean withMachine) {
    if (!alive) {
      return;
    }
    alive = false;
    services.values().forEach(SimulatedService::cancel);
    if (starting != null) {
      if (withMachine) {
        starting.endNow();
      } else {
        starting.nodeEnded();
      }
    }
  }

  /** The agent that the node has started last. */
  SimulatedAgent lastAgent() {
    return starting;
  }
}
