package io.tensorflowignite.simulation;

import static io.tensorflowignite.v1.JobState.JOB_STATE_PENDING;
import static io.tensorflowignite.v1.JobState.JOB_STATE_RUNNING;

import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.base.JobLayout;
import io.tensorflowignite.job.decide.Demand;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobQueue;
import io.tensorflowignite.job.decide.Members;
import io.tensorflowignite.job.decide.Placement;
import io.tensorflowignite.job.decide.PlacementResult;
import io.tensorflowignite.job.decide.Resource;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobKind;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.OnJoin;
import io.tensorflowignite.v1.Restart;
import io.tensorflowignite.v1.Strategy;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.Timeouts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A few hosts with nodes, one to three jobs, and faults at random moments for 40 s. Then the hosts
 * are repaired, and the jobs must reach their final states. The history follows from the seed.
 */
final class SimulatedCluster {
  static final ClusterSettings SETTINGS = new TensorFlowService().settings();

  /** Rules of the simulated world that a test may break, to show that the simulation finds it. */
  enum World {
    SOUND,

    /** Agents do not end tasks at the end of a lease. */
    LEASES_ARE_IGNORED,

    /** Nodes do not leave the members of jobs; the services of jobs remove nodes that have left. */
    MEMBERS_ARE_REMOVED_FROM_MEMORY
  }

  private static final int PARTITIONS = 8;
  private static final long FAULTS_END_MS = 40_000;
  private static final long QUIET_MS = 400_000;
  private static final long REASON_MS = 10_000;
  private static final long DETECTION_MS = 10_000;
  private static final long LEAVE_MEMBERS_MS = 3_000;

  /** A node stops within a second of a cut, leaves the members of jobs, and starts again. */
  private static final long MOVE_MS = 1_000 + LEAVE_MEMBERS_MS + 4_000;

  /** A lease, and the time for what may come late. */
  private static final long LEASE_IS_OVER_MS = 8_000;

  private static final class Host {
    SimulatedNode node;
    SimulatedAgent agent;

    /** The cluster that its next node joins. */
    SimulatedCell cell;

    int side;
    boolean restarts;

    /** It was on the smaller side of a cut. */
    boolean moves;
  }

  private final Simulation simulation;
  private final World world;
  private final ProcessBooks books;
  private final List<Host> hosts = new ArrayList<>();
  private final List<String> jobs = new ArrayList<>();
  private final Map<String, List<Integer>> dataHosts = new LinkedHashMap<>();

  /** The cluster that goes on after a cut. */
  private SimulatedCell main;

  private SimulatedCell other;
  private boolean cut;
  private boolean merging;
  private long healsAt;
  private long cutAt;
  private int nextOrder = 1;
  private final int maxTasks;
  private int shift;
  private long mapChangedAt;
  private double lossOfReports = 0.02;
  private boolean faultsAreOver;
  private String fault = "";

  /** By job: since when its row waits without a reason. */
  private final Map<String, Long> withoutReason = new LinkedHashMap<>();

  SimulatedCluster(Simulation simulation, World world) {
    this.simulation = simulation;
    this.world = world;
    this.books = new ProcessBooks(simulation);
    this.main = new SimulatedCell(simulation, this);
    this.maxTasks = simulation.between(1, 4);
    int count = simulation.between(3, 9);
    for (int i = 0; i < count; i++) {
      Host host = new Host();
      host.cell = main;
      hosts.add(host);
      start(host);
    }
    int jobCount = simulation.between(1, 3);
    for (int i = 0; i < jobCount; i++) {
      submit("job" + i);
    }
    simulation.after(1_000, this::reconcile);
    simulation.after(1_000, this::checkReasons);
    int faults = simulation.between(2, 9);
    for (int i = 0; i < faults; i++) {
      simulation.after(simulation.between(1_000, (int) FAULTS_END_MS), this::randomFault);
    }
    simulation.after(FAULTS_END_MS, this::repair);
  }

  /** Runs until all is quiet; returns what is wrong, or an empty text. */
  String run() {
    while (fault().isEmpty() && simulation.millis() < FAULTS_END_MS + QUIET_MS) {
      simulation.next();
      if (faultsAreOver && other == null && main.rows().isEmpty()) {
        return afterwards();
      }
    }
    if (fault().isEmpty()) {
      fault = "jobs are stuck: " + main.rows().values();
    }
    return fault();
  }

  /** Nothing is left of jobs that are over. */
  private String afterwards() {
    long end = simulation.millis() + 20_000;
    while (fault().isEmpty() && simulation.millis() < end) {
      simulation.next();
    }
    for (String job : jobs) {
      if (books.running(job) > 0) {
        fault = "processes of " + job + " run after its end";
      }
    }
    for (SimulatedNode member : main.members) {
      if (member.runner.attempts() > 0) {
        fault = member.id() + " still has an attempt";
      }
    }
    return fault();
  }

  private String fault() {
    return fault.isEmpty() ? books.fault() : fault;
  }

  // The jobs.

  private void submit(String id) {
    boolean servers = simulation.chance(0.3);
    JobSpec.Builder spec =
        JobSpec.newBuilder()
            .setCache(id)
            .setStrategy(
                servers
                    ? Strategy.newBuilder()
                        .setKind(JobKind.JOB_KIND_PARAMETER_SERVER)
                        .setServers(simulation.between(1, 2))
                    : Strategy.newBuilder().setKind(JobKind.JOB_KIND_MULTI_WORKER_MIRRORED))
            .setRestart(
                Restart.newBuilder()
                    .setOnJoin(
                        simulation.chance(0.5) ? OnJoin.ON_JOIN_RESTART : OnJoin.ON_JOIN_IGNORE))
            .setTimeouts(
                Timeouts.newBuilder()
                    .setWait(Durations.fromSeconds(90))
                    .setStart(Durations.fromSeconds(30)));
    List<Integer> data = new ArrayList<>();
    for (int i = 0; i < hosts.size(); i++) {
      if (simulation.chance(0.7)) {
        data.add(i);
      }
    }
    if (data.isEmpty()) {
      data.add(0);
    }
    dataHosts.put(id, data);
    jobs.add(id);
    simulation.after(
        simulation.between(200, 12_000),
        () -> {
          Job.Builder job =
              Job.newBuilder()
                  .setId(id)
                  .setLayout(JobLayout.CURRENT)
                  .setState(JOB_STATE_PENDING)
                  .setCreatedAt(Timestamps.fromMillis(simulation.millis()))
                  .setSpec(spec);
          Members.set(job, nodes(main.here()));
          main.put(id, job.build());
        });
  }

  private static List<Node> nodes(List<SimulatedNode> members) {
    return members.stream().map(SimulatedNode::node).collect(Collectors.toList());
  }

  private List<SimulatedNode> owners(Job job, List<SimulatedNode> live) {
    return live.stream()
        .filter(node -> dataHosts.get(job.getId()).contains(node.host))
        .collect(Collectors.toList());
  }

  /**
   * As {@code JobAdmission}; the client process and parameter servers count for the first owner.
   */
  private Set<String> waiting(SimulatedCell cell, SimulatedNode oldest) {
    if (cell.isBlocked(oldest)) {
      return Set.of();
    }
    List<SimulatedNode> live = oldest.live();
    Map<Resource, Integer> limits =
        live.stream()
            .collect(Collectors.toMap(node -> Resource.tasks(node.id()), node -> maxTasks));
    Map<String, JobQueue.Entry> queue =
        JobQueue.decide(
                cell.rows().values(),
                limits,
                SETTINGS.queue,
                job -> {
                  Map<Resource, Integer> tasks =
                      owners(job, live).stream()
                          .collect(
                              Collectors.toMap(owner -> Resource.tasks(owner.id()), owner -> 1));
                  int others =
                      job.getSpec().getStrategy().getServers()
                          + (job.getSpec().getStrategy().getServers() > 0 ? 1 : 0);
                  tasks.entrySet().stream()
                      .findFirst()
                      .ifPresent(first -> first.setValue(1 + others));
                  return tasks.isEmpty() ? Optional.empty() : Optional.of(Demand.of(tasks));
                })
            .entries;
    queue.forEach(
        (id, entry) -> {
          if (entry.isAdmitted()) {
            simulation.log("%s admits job %s", oldest.id(), id);
            cell.update(
                id,
                row ->
                    JobQueue.mayWait(row)
                        ? row.toBuilder()
                            .setAdmittedAt(Timestamps.fromMillis(simulation.millis()))
                            .build()
                        : row);
          }
        });
    return queue.keySet().stream()
        .filter(id -> !queue.get(id).isAdmitted())
        .collect(Collectors.toSet());
  }

  /** What {@code AssignmentReader} reads. */
  PlacementResult placement(Job job, SimulatedNode service) {
    long stable =
        Math.max(service.viewChangedAt, mapChangedAt) + TimeUnit.MILLISECONDS.toNanos(800);
    if (simulation.nanos() < stable) {
      return PlacementResult.waitFor("the partition map to stay the same for 0.8 s");
    }
    List<SimulatedNode> live = service.live();
    List<SimulatedNode> owners = owners(job, live);
    if (owners.isEmpty()) {
      return PlacementResult.waitFor("an owner of partition 0");
    }
    Map<Node, List<Integer>> partitions = new LinkedHashMap<>();
    for (SimulatedNode owner : owners) {
      if (owner.runner.isInQuarantine()) {
        return PlacementResult.waitFor("node " + owner.id() + " to leave its quarantine");
      }
      if (owner.leaving) {
        return PlacementResult.waitFor("node " + owner.id() + " to stop");
      }
      if (!owner.hasAgent()) {
        return PlacementResult.waitFor("node " + owner.id() + " to have an agent");
      }
      partitions.put(owner.node(), new ArrayList<>());
    }
    List<List<Integer>> lists = new ArrayList<>(partitions.values());
    for (int i = 0; i < Math.max(PARTITIONS, lists.size()); i++) {
      lists.get((i + shift) % lists.size()).add(i);
    }
    boolean canRunClient = service.hasAgent() && !service.runner.isInQuarantine();
    Node client =
        canRunClient && !service.leaving ? service.node() : partitions.keySet().iterator().next();
    return PlacementResult.of(
        Placement.of(
            job.getSpec(), partitions, List.copyOf(partitions.keySet()), client, nodes(live)));
  }

  /** As {@code Reconciler}: an admitted job has a service, a finished one has none. */
  private void reconcile() {
    for (SimulatedCell cell : cells()) {
      SimulatedNode oldest = oldest(cell);
      if (oldest == null) {
        continue;
      }
      Set<String> waiting = waiting(cell, oldest);
      for (String job : jobs) {
        Job row = cell.row(job);
        boolean over = row == null || JobMachine.isFinal(row);
        List<SimulatedNode> serving =
            cell.here().stream().filter(node -> node.serves(job)).collect(Collectors.toList());
        if (over) {
          serving.forEach(node -> node.after(1, () -> node.cancelService(job)));
          if (row != null) {
            finish(cell, oldest, job);
          }
        } else if (serving.isEmpty()) {
          if (!waiting.contains(job)) {
            deploy(cell, job);
          }
        } else {
          serving.stream().skip(1).forEach(node -> node.after(1, () -> node.cancelService(job)));
        }
      }
    }
    simulation.after(500, this::reconcile);
  }

  private void deploy(SimulatedCell cell, String job) {
    List<SimulatedNode> able =
        cell.here().stream()
            .filter(node -> node.isAlive() && !node.leaving)
            .collect(Collectors.toList());
    if (!able.isEmpty()) {
      SimulatedNode node = able.get(simulation.random.nextInt(able.size()));
      node.after(simulation.between(20, 300), () -> node.serve(job));
    }
  }

  private static SimulatedNode oldest(SimulatedCell cell) {
    return cell.here().stream()
        .filter(node -> node.isAlive() && !node.isFrozen())
        .findFirst()
        .orElse(null);
  }

  /** The job moves to the history when its output has been stored. */
  private void finish(SimulatedCell cell, SimulatedNode oldest, String job) {
    if (!cell.isBlocked(oldest) && simulation.chance(0.4)) {
      simulation.log(
          "job %s is over: %s %s", job, cell.row(job).getState(), cell.row(job).getCause());
      cell.put(job, null);
    }
  }

  /** A job that is not over says what it waits for. */
  private void checkReasons() {
    for (String id : jobs) {
      Job row = main.row(id);
      boolean explained =
          row == null
              || row.getState() == JOB_STATE_RUNNING
              || JobMachine.isFinal(row)
              || !row.getWaitingFor().isEmpty();
      SimulatedNode service =
          main.here().stream().filter(node -> node.serves(id)).findFirst().orElse(null);
      if (explained || service == null || main.isBlocked(service)) {
        withoutReason.remove(id);
      } else {
        long since = withoutReason.computeIfAbsent(id, any -> simulation.millis());
        if (simulation.millis() - since > REASON_MS) {
          fault = "a job waits without a reason: " + row;
        }
      }
    }
    simulation.after(1_000, this::checkReasons);
  }

  // The nodes.

  private List<SimulatedCell> cells() {
    return other == null ? List.of(main) : List.of(main, other);
  }

  private void start(Host host) {
    host.restarts = false;
    host.node = new SimulatedNode(simulation, this, hosts.indexOf(host), nextOrder);
    nextOrder++;
    simulation.log("%s joins", host.node.id());
    host.cell.join(host.node);
  }

  /** The next agent of a host ends what is left of the one before. */
  SimulatedAgent newAgent(SimulatedNode node) {
    Host host = hosts.get(node.host);
    if (host.agent != null) {
      host.agent.endNow();
    }
    host.agent = new SimulatedAgent(simulation, books, node, world == World.LEASES_ARE_IGNORED);
    return host.agent;
  }

  void peersFail(SimulatedNode from, TaskKey task, String attempt) {
    for (Host host : hosts) {
      if (host.agent != null && host.node != from && !isCut(from, host.node)) {
        host.agent.peerFailed(task, attempt);
      }
    }
  }

  private void restart(Host host, long millis) {
    host.restarts = true;
    simulation.after(millis, () -> tryStart(host));
  }

  private void tryStart(Host host) {
    String consistentId = host.node.consistentId();
    boolean here =
        host.cell.members.stream().anyMatch(node -> node.consistentId().equals(consistentId));
    if (here || (merging && host.moves)) {
      simulation.after(300, () -> tryStart(host));
    } else {
      start(host);
    }
  }

  // The network.

  boolean isCut(SimulatedNode one, SimulatedNode two) {
    return cut && hosts.get(one.host).side != hosts.get(two.host).side;
  }

  /** How long a message is under way, in milliseconds; negative: it is lost. */
  long delay(SimulatedNode from, SimulatedNode to) {
    if (isCut(from, to)) {
      // The host sends it again until the connection is closed, or the network is whole.
      return simulation.chance(0.5) ? healsAt - simulation.millis() + 50 : -1;
    }
    return simulation.chance(0.01) ? simulation.between(100, 4_000) : simulation.between(1, 20);
  }

  double lossOfReports() {
    return lossOfReports;
  }

  // The faults.

  private void randomFault() {
    Host host = hosts.get(simulation.random.nextInt(hosts.size()));
    SimulatedNode node = host.node;
    boolean starts = node.lastAgent() == null;
    boolean up =
        node.isAlive() && node.cell != null && !node.isFrozen() && !node.leaving && !starts;
    String job = jobs.get(simulation.random.nextInt(jobs.size()));
    if (!up) {
      return;
    }
    List<Runnable> faults =
        List.of(
            () -> kill(host, false),
            () -> kill(host, false),
            () -> kill(host, true),
            () -> leave(host, false),
            () -> leave(host, true),
            () -> freeze(host, simulation.between(500, 25_000)),
            () -> freeze(host, simulation.between(500, 25_000)),
            () -> freezeAgent(host, simulation.between(500, 20_000)),
            () -> endAgent(node),
            () -> node.lastAgent().crash(),
            () -> cut(simulation.between(2_000, 35_000)),
            this::movePartitions,
            () -> stop(host, job),
            () -> pauseRunner(node, simulation.between(500, 12_000)),
            () -> moveService(job));
    faults.get(simulation.random.nextInt(faults.size())).run();
  }

  private void endAgent(SimulatedNode node) {
    simulation.log("the agent of %s ends", node.id());
    node.lastAgent().endNow();
  }

  private void movePartitions() {
    simulation.log("partitions move");
    shift++;
    mapChangedAt = simulation.nanos();
  }

  private void pauseRunner(SimulatedNode node, int millis) {
    simulation.log("the runner of %s pauses", node.id());
    node.pauseRunner(millis);
  }

  private void kill(Host host, boolean withMachine) {
    SimulatedNode node = host.node;
    SimulatedCell cell = node.cell;
    if (living(cell) < 2) {
      return;
    }
    simulation.log("%s is killed%s", node.id(), withMachine ? " with its machine" : "");
    if (simulation.chance(0.2)) {
      freezeAgent(host, simulation.between(500, 20_000));
    }
    node.end(withMachine);
    int detection = withMachine ? simulation.between(5_000, 10_000) : simulation.between(50, 1_500);
    removeAfter(node, detection);
    restart(host, simulation.between(2_000, 30_000));
  }

  private void removeAfter(SimulatedNode node, long millis) {
    simulation.after(
        millis,
        () -> {
          for (SimulatedCell cell : cells()) {
            cell.remove(node, false);
          }
        });
  }

  private static long living(SimulatedCell cell) {
    return cell.here().stream().filter(SimulatedNode::isAlive).count();
  }

  /**
   * A node is stopped in order.
   *
   * @param nearCut the network is cut within a second of the end of the node, and the next node of
   *     the host starts soon, on any side
   */
  private void leave(Host host, boolean nearCut) {
    SimulatedNode node = host.node;
    if (living(node.cell) < 2) {
      return;
    }
    simulation.log("%s is stopped in order", node.id());
    node.leaving = true;
    node.runner.leave();
    node.wake();
    leaveWhenIdle(host, node, nearCut, simulation.millis() + 7_000);
  }

  private void leaveWhenIdle(Host host, SimulatedNode node, boolean nearCut, long end) {
    node.after(
        200,
        () -> {
          if (node.runner.isActive() && simulation.millis() < end) {
            leaveWhenIdle(host, node, nearCut, end);
            return;
          }
          if (nearCut) {
            int millis = simulation.between(11_000, 35_000);
            simulation.after(simulation.between(0, 2_000), () -> cut(millis));
          }
          int pause = nearCut ? 1_000 : 1;
          long limit = simulation.millis() + pause + LEAVE_MEMBERS_MS;
          node.after(pause, () -> leaveMembers(host, node, nearCut, limit));
        });
  }

  /** As {@code OrderlyStop}: the node leaves the members of the jobs, and does not wait long. */
  private void leaveMembers(Host host, SimulatedNode node, boolean nearCut, long end) {
    boolean leaves = world != World.MEMBERS_ARE_REMOVED_FROM_MEMORY;
    boolean blocked = node.cell == null || node.cell.isBlocked(node);
    if (leaves && blocked && simulation.millis() < end) {
      node.after(100, () -> leaveMembers(host, node, nearCut, end));
      return;
    }
    if (leaves && !blocked) {
      Set<String> here = Members.consistentIds(nodes(node.live()));
      jobs.forEach(
          job -> node.cell.update(job, row -> Members.leave(row, node.consistentId(), here)));
    }
    node.end(true);
    // The other side of a cut does not get this message: there, the node fails.
    simulation.after(simulation.between(10, 300), () -> host.cell.remove(node, true));
    if (nearCut) {
      simulation.after(simulation.between(500, 4_000), () -> move(host));
      restart(host, simulation.between(1_000, 5_000));
    } else {
      restart(host, simulation.between(2_000, 20_000));
    }
  }

  /** What an earlier version did: a service removes the nodes that have left in order. */
  Job withoutDeparted(Job job, SimulatedNode service) {
    if (world != World.MEMBERS_ARE_REMOVED_FROM_MEMORY || JobMachine.isFinal(job)) {
      return job;
    }
    Set<String> here = Members.consistentIds(nodes(service.live()));
    List<Node> staying =
        job.getMembersList().stream()
            .filter(
                member ->
                    !service.leftInOrder.contains(member.getId())
                        || here.contains(member.getConsistentId()))
            .collect(Collectors.toList());
    return job.toBuilder().clearMembers().addAllMembers(staying).build();
  }

  /**
   * The next node of the host is started on the other side of a cut that has just begun. Later, a
   * node must not move to the other side: it would count for both sides, one after the other.
   */
  private void move(Host host) {
    boolean recent = simulation.millis() - cutAt < MOVE_MS;
    if (host.restarts && other != null && !merging && recent && simulation.chance(0.5)) {
      host.cell = host.cell == main ? other : main;
      host.side = 1 - host.side;
      simulation.log("%s moves to side %d", host.node.id(), host.side);
    }
  }

  private void freeze(Host host, int millis) {
    SimulatedNode node = host.node;
    if (living(node.cell) < 2) {
      return;
    }
    simulation.log("%s stands still for %d ms", node.id(), millis);
    node.freeze(millis);
    if (simulation.chance(0.3)) {
      freezeAgent(host, millis + simulation.between(-500, 3_000));
    }
    simulation.after(
        DETECTION_MS - simulation.between(0, 2_000),
        () -> {
          if (node.isAlive() && node.isFrozen() && node.cell != null) {
            for (SimulatedCell cell : cells()) {
              cell.remove(node, false);
            }
            node.after(simulation.between(100, 3_000), () -> endSegmented(host, node));
          }
        });
  }

  /** A node that has learned that the others have removed it ends itself. */
  private void endSegmented(Host host, SimulatedNode node) {
    if (node.isAlive()) {
      simulation.log("%s ends, since it was removed", node.id());
      node.end(false);
      restart(host, simulation.between(2_000, 20_000));
    }
  }

  private void freezeAgent(Host host, int millis) {
    if (host.agent != null && millis > 0) {
      simulation.log("the agent of %s stands still for %d ms", host.node.id(), millis);
      host.agent.freeze(millis);
    }
  }

  private void cut(int millis) {
    if (cut || other != null) {
      return;
    }
    int first = 0;
    for (Host host : hosts) {
      host.side = simulation.random.nextInt(2);
      first += host.side;
    }
    if (first == 0 || first == hosts.size()) {
      hosts.get(0).side = 1 - hosts.get(0).side;
    }
    cut = true;
    cutAt = simulation.millis();
    healsAt = simulation.millis() + millis;
    if (millis <= DETECTION_MS) {
      simulation.log("the network is cut for %d ms, which nobody notices", millis);
      simulation.after(
          millis,
          () -> {
            simulation.log("the network is whole");
            cut = false;
          });
      return;
    }
    other = main.copy();
    for (Host host : hosts) {
      if (host.side != hosts.get(0).side) {
        host.cell = other;
        if (host.node.cell == main) {
          host.node.cell = other;
        }
      }
    }
    simulation.log(
        "the network is cut for %d ms: %s",
        millis,
        hosts.stream().map(host -> host.node.id() + "=" + host.side).collect(Collectors.toList()));
    // Each side notices it at another moment, one lost node after the other.
    for (SimulatedCell cell : cells()) {
      int detection = simulation.between(500, 8_500);
      for (SimulatedNode member : cell.members) {
        if (hosts.get(member.host).cell != cell) {
          simulation.after(
              detection + simulation.between(0, 1_500), () -> cell.remove(member, false));
        }
      }
    }
    simulation.after(millis, this::heal);
  }

  /** Ignite does not unite two clusters: somebody restarts the nodes of the smaller one. */
  private void heal() {
    simulation.log("the network is whole");
    cut = false;
    int pause = simulation.between(12_000, 15_000);
    simulation.after(pause, this::merge);
  }

  private void merge() {
    long here = living(main);
    long there = living(other);
    if (there > here) {
      SimulatedCell larger = other;
      other = main;
      main = larger;
    }
    merging = true;
    simulation.log("%s of the smaller cluster are restarted", other.members.size());
    for (Host host : hosts) {
      host.moves = host.cell == other;
      host.cell = main;
      if (host.moves && host.node.isAlive()) {
        SimulatedNode node = host.node;
        simulation.after(
            0,
            () -> {
              node.end(false);
              if (!host.restarts) {
                restart(host, LEASE_IS_OVER_MS + simulation.between(0, 5_000));
              }
            });
      }
    }
    simulation.after(
        LEASE_IS_OVER_MS,
        () -> {
          other = null;
          merging = false;
        });
  }

  private void stop(Host host, String job) {
    SimulatedNode node = host.node;
    boolean force = simulation.chance(0.4);
    boolean save = !force && simulation.chance(0.5);
    node.after(
        10,
        () -> {
          if (node.cell == null || node.cell.isBlocked(node)) {
            return;
          }
          simulation.log("a stop of job %s is requested, force=%s, save=%s", job, force, save);
          node.cell.update(
              job,
              row ->
                  JobMachine.isFinal(row)
                      ? row
                      : row.toBuilder()
                          .setStopRequested(true)
                          .setForceStopRequested(force || row.getForceStopRequested())
                          .setSaveRequested(save)
                          .build());
        });
  }

  private void moveService(String job) {
    for (SimulatedNode node : main.here()) {
      if (node.serves(job)) {
        simulation.log("the service of job %s moves", job);
        deploy(main, job);
        node.after(simulation.between(0, 500), () -> node.cancelService(job));
        return;
      }
    }
  }

  private void repair() {
    simulation.log("no further faults");
    lossOfReports = 0;
    long end = cut || other != null ? Math.max(0, healsAt - simulation.millis()) + 1_000 : 0;
    simulation.after(end, this::repaired);
  }

  private void repaired() {
    faultsAreOver = other == null && !cut;
    if (!faultsAreOver) {
      simulation.after(1_000, this::repaired);
    }
  }
}
