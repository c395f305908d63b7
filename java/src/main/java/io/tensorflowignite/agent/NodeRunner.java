package io.tensorflowignite.agent;

import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RESERVE;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_RUN;
import static io.tensorflowignite.v1.AttemptPhase.ATTEMPT_PHASE_STOP;
import static io.tensorflowignite.v1.CauseKind.CAUSE_KIND_STALL;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_INVALID;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_NOT_FOUND;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_DRAINED;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Duration;
import com.google.protobuf.util.Durations;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.OutputNews;
import io.tensorflowignite.job.TaskProfiles;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.KindRules;
import io.tensorflowignite.job.decide.KnownValues;
import io.tensorflowignite.job.decide.Placement;
import io.tensorflowignite.lease.Contacts;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.LogTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.Attempt;
import io.tensorflowignite.v1.AttemptLease;
import io.tensorflowignite.v1.AttemptPhase;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.StartTaskRequest;
import io.tensorflowignite.v1.StopAttemptResponse;
import io.tensorflowignite.v1.Task;
import io.tensorflowignite.v1.TaskKey;
import io.tensorflowignite.v1.TaskProfile;
import io.tensorflowignite.v1.TaskState;
import io.tensorflowignite.v1.UnprovenAttempt;
import io.tensorflowignite.v1.WatchResponse;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * Makes this node's tasks follow the job table: it compares the phase of every current attempt with
 * the agent's tasks, takes the missing steps, and reports. One thread does this after every event,
 * and every second; every three seconds while this node has no attempt.
 */
public final class NodeRunner implements AutoCloseable {
  private static final long TICK_MS = 1_000;
  private static final long IDLE_TICK_MS = 3_000;
  private static final java.time.Duration ERROR_PAUSE = java.time.Duration.ofSeconds(1);

  private static final java.time.Duration CLOSE_TIMEOUT = java.time.Duration.ofSeconds(10);

  private static final java.time.Duration LEAVE_POLL = java.time.Duration.ofMillis(50);

  /** Time for the messages from this node to the services of jobs and back. */
  private static final java.time.Duration LEAVE_MARGIN = java.time.Duration.ofSeconds(2);

  /** Longer than a pass with its calls to the agent and the download of a code archive. */
  private static final java.time.Duration PASS_LIMIT = java.time.Duration.ofMinutes(2);

  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final int taskNice;
  private final String nodeId;
  private final String nodeAddress;
  private final Supplier<Map<String, String>> tlsEnvironment;
  private final Supplier<List<String>> peers;
  private final String taskHost;
  private final CodeArchives archives;
  private final AgentSupervisor supervisor;
  private final JobIndex jobs;
  private final ReportSender sender;
  private final NodeTable nodeTable;
  private final OutputStore output;
  private final Contacts contacts;

  private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();
  private final Semaphore changes = new Semaphore(0);
  private final ProgressFilter progress = new ProgressFilter();
  private final Map<String, LocalAttempt> attempts = new ConcurrentHashMap<>();
  private final Thread thread = new Thread(this::run, "tensorflow-ignite-node-runner");
  private final Loop loop;
  private final Runnable endReceipts;
  private final Runnable endProfiles;
  private volatile boolean leaving;
  private volatile long activeGraceNanos;
  private volatile boolean closed;

  /**
   * @param nodeAddress host:port of this node's API and data endpoint.
   * @param tlsEnvironment variables that a task needs to call this API.
   * @param peers host:port of other nodes, for the agent of a node that is killed.
   */
  public NodeRunner(
      Ignite ignite,
      ClusterSettings settings,
      int taskNice,
      AgentSupervisor supervisor,
      JobIndex jobs,
      NodeTable nodes,
      String nodeAddress,
      Supplier<Map<String, String>> tlsEnvironment,
      Supplier<List<String>> peers,
      CodeStore code,
      OutputNews news,
      Contacts contacts,
      Path agentDirectory,
      Loops loops) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(NodeRunner.class);
    this.settings = settings;
    this.taskNice = taskNice;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.nodeAddress = nodeAddress;
    this.tlsEnvironment = tlsEnvironment;
    this.peers = peers;
    this.taskHost = nodeAddress.substring(0, nodeAddress.lastIndexOf(':'));
    this.archives = new CodeArchives(agentDirectory, code);
    this.supervisor = supervisor;
    this.contacts = contacts;
    this.jobs = jobs;
    this.sender = new ReportSender(ignite);
    this.nodeTable = nodes;
    this.output =
        new OutputStore(
            new LogTable(ignite), log, settings.logLimitBytes, this::nodes, news::stored);
    this.loop = loops.continuous("node runner", PASS_LIMIT, () -> closed);
    this.endReceipts = sender.listen();
    this.endProfiles = TaskProfiles.listen(ignite, request -> wakeFor(() -> profile(request)));
  }

  public void start() {
    thread.start();
  }

  /** Starts a pass, since the job table may have changed. */
  public void wake() {
    changes.release();
  }

  /**
   * Takes an event of the agent. Output is stored at once, on the calling thread, to keep its
   * order. An event with progress alone waits for the next pass, since no decision depends on it.
   */
  public void agentEvent(WatchResponse event) {
    if (event.hasLog()) {
      output.add(event.getKey(), event.getLog());
    } else if (event.hasStatus()) {
      if (event.getStatus().getState().getNumber() > TaskState.TASK_STATE_RUNNING_VALUE) {
        endOutput(event.getKey());
      }
      events.add(
          () -> {
            LocalAttempt attempt =
                attempts.get(
                    ReportSender.id(event.getKey().getJobId(), event.getKey().getAttempt()));
            if (attempt != null) {
              attempt.observe(event.getKey(), event.getStatus());
            }
          });
      if (!progress.isAlone(event)) {
        wake();
      }
    }
  }

  private void endOutput(TaskKey task) {
    try {
      output.end(task);
    } catch (RuntimeException e) {
      log.warning("The end of a task's output could not be stored [task=" + task + "]", e);
    }
  }

  public void agentLost(String reason) {
    wakeFor(
        () ->
            attempts
                .values()
                .forEach(
                    attempt -> {
                      attempt.loseAgent(reason);
                      attempt.stopping = false;
                    }));
  }

  private void wakeFor(Runnable event) {
    events.add(event);
    wake();
  }

  /**
   * Requests planned ends of the attempts with tasks on this node, which is being stopped. Returns
   * when no task runs here, at the latest after the longest stop grace of these jobs plus the time
   * for messages.
   */
  public void leave() {
    leaving = true;
    long begin = System.nanoTime();
    wake();
    while (!closed && System.nanoTime() - begin < activeGraceNanos) {
      Uninterruptibles.sleepUninterruptibly(LEAVE_POLL);
    }
  }

  /** The longest time that {@link #leave} may take now, in nanoseconds; 0: no task runs. */
  public long leaveNanos() {
    return activeGraceNanos;
  }

  /** The time for which a stop of this node waits for its tasks; 0: none runs. */
  private long graceOfActive() {
    return attempts.values().stream()
        .filter(LocalAttempt::isActive)
        .mapToLong(local -> Durations.toNanos(grace(local.job)) + LEAVE_MARGIN.toNanos())
        .max()
        .orElse(0);
  }

  /** Until when the tasks of each attempt on this node may run. */
  public List<AttemptLease> leases() {
    return attempts.values().stream()
        .map(
            attempt ->
                AttemptLease.newBuilder()
                    .setJobId(attempt.jobId)
                    .setAttempt(attempt.number)
                    .setUntilNanos(contacts.leaseEnd(attempt.job))
                    .build())
        .collect(Collectors.toList());
  }

  /**
   * Attempts of ended jobs without the proof that their processes have ended on this node. While
   * there are any, no task is placed here. Only the row of this node has them, so the quarantine
   * ends with the node.
   */
  public List<UnprovenAttempt> quarantine() {
    return attempts.values().stream()
        .flatMap(attempt -> attempt.unproven().stream())
        .sorted(
            Comparator.comparing(UnprovenAttempt::getJobId)
                .thenComparing(UnprovenAttempt::getAttempt))
        .collect(Collectors.toList());
  }

  @Override
  public void close() {
    closed = true;
    wake();
    thread.interrupt();
    Uninterruptibles.joinUninterruptibly(thread, CLOSE_TIMEOUT);
    endReceipts.run();
    endProfiles.run();
    archives.clear();
  }

  private void run() {
    loop.run(ERROR_PAUSE, this::pass);
  }

  private void pass() throws InterruptedException {
    long tick = attempts.isEmpty() ? IDLE_TICK_MS : TICK_MS;
    if (changes.tryAcquire(tick, TimeUnit.MILLISECONDS)) {
      changes.drainPermits();
    }
    for (Runnable event = events.poll(); event != null; event = events.poll()) {
      loop.part("event", event::run);
    }
    converge();
    activeGraceNanos = graceOfActive();
  }

  /**
   * One pass over all jobs; the failure of one job does not affect others. If the row of a job is
   * unreadable, its tasks are stopped as those of a removed job, since no node can decide about
   * them. A job with values of a later version does not change: its tasks continue, and no task is
   * started or stopped.
   */
  private void converge() throws InterruptedException {
    Set<String> desired = new HashSet<>();
    for (Job job : jobs.withTasksOn(nodeId)) {
      if (!KnownValues.isOfLaterVersion(job)) {
        desired.add(ReportSender.id(job.getId(), JobMachine.attempt(job).getNumber()));
        loop.part("job " + job.getId(), () -> converge(job));
      }
    }
    output.retain(id -> jobs.current(id).filter(job -> !job.hasFinishedAt()).isPresent());
    for (LocalAttempt local : new ArrayList<>(attempts.values())) {
      if (!desired.contains(local.id())
          && jobs.current(local.jobId).filter(KnownValues::isOfLaterVersion).isEmpty()) {
        loop.part("end of job " + local.jobId, () -> end(local));
      }
    }
    sender.retain(attempts.keySet());
    progress.retain(key -> attempts.containsKey(ReportSender.id(key.getJobId(), key.getAttempt())));
  }

  private void converge(Job job) {
    Attempt attempt = JobMachine.attempt(job);
    LocalAttempt local =
        attempts.computeIfAbsent(
            ReportSender.id(job.getId(), attempt.getNumber()),
            key -> new LocalAttempt(job, attempt.getNumber()));
    local.job = job;
    converge(job, attempt, localTasks(attempt), local);
    report(local);
  }

  /** Stops the tasks of an attempt that is no longer in the job table. */
  private void end(LocalAttempt local) {
    if (local.reached != ATTEMPT_PHASE_STOP) {
      local.markUnproven();
      stop(local, duration(settings.stopGrace), false);
      return;
    }
    attempts.remove(local.id());
    if (attempts.isEmpty()) {
      archives.clear();
    }
  }

  private void converge(Job job, Attempt attempt, List<Task> tasks, LocalAttempt local) {
    switch (attempt.getPhase()) {
      case ATTEMPT_PHASE_RESERVE:
        if (local.reached == AttemptPhase.ATTEMPT_PHASE_UNSPECIFIED) {
          reserve(job, tasks, local);
        }
        break;
      case ATTEMPT_PHASE_RUN:
        run(job, attempt, tasks, local);
        break;
      case ATTEMPT_PHASE_SAVE:
        run(job, attempt, tasks, local);
        planEnd(attempt, local);
        break;
      case ATTEMPT_PHASE_STOP:
        if (local.reached != ATTEMPT_PHASE_STOP) {
          stop(local, grace(job), attempt.getCauseKind() == CAUSE_KIND_STALL);
        }
        break;
      default:
        throw new IllegalStateException("Attempt without a phase [job=" + job.getId() + "]");
    }
  }

  private void reserve(Job job, List<Task> tasks, LocalAttempt local) {
    AgentConnection agent = supervisor.agent().orElse(null);
    // The tasks may have been placed before the quarantine began.
    if (agent == null || !quarantine().isEmpty()) {
      return;
    }
    try {
      List<TaskKey> keys = tasks.stream().map(local::key).collect(Collectors.toList());
      List<Integer> ports = agent.reservePorts(keys);
      for (int i = 0; i < tasks.size(); i++) {
        Task task = tasks.get(i);
        local.reserve(
            task,
            taskHost + ":" + ports.get(i),
            PartitionRows.count(ignite, job.getSpec().getCache(), task));
      }
      local.reached = ATTEMPT_PHASE_RESERVE;
    } catch (StatusRuntimeException e) {
      local.error("the agent could not reserve ports: " + e.getStatus().getDescription());
    }
  }

  private void run(Job job, Attempt attempt, List<Task> tasks, LocalAttempt local) {
    for (Task task : tasks) {
      start(job, attempt, task, local);
    }
    local.reached = ATTEMPT_PHASE_RUN;
  }

  private void addTimeouts(StartTaskRequest.Builder request, JobSpec spec) {
    request
        .setFirstStepTimeout(
            spec.getTimeouts().hasFirstStep()
                ? spec.getTimeouts().getFirstStep()
                : duration(settings.firstStepTimeout))
        .setStallTimeout(
            spec.getTimeouts().hasStall()
                ? spec.getTimeouts().getStall()
                : duration(settings.stallTimeout));
  }

  private void start(Job job, Attempt attempt, Task task, LocalAttempt local) {
    TaskKey key = local.key(task);
    AgentConnection agent = supervisor.agent().orElse(null);
    if (!local.hasTask(key)) {
      if (!local.replace(task)) {
        local.error("the node's service was restarted and has no state of attempt " + local.number);
      }
    }
    OptionalLong leaseEnd = contacts.leaseEndToStart(job);
    boolean canStart = agent != null && leaseEnd.isPresent() && !leaving;
    if (!canStart || !local.isToStart(key)) {
      return;
    }
    if (!local.token(key).digest().equals(task.getStatus().getTokenDigest())) {
      // The task runs only after all nodes have the digest of its token, in the row.
      return;
    }
    try {
      JobSpec spec = job.getSpec();
      Path archive = archives.file(spec.getCodeDigest());
      StartTaskRequest.Builder request =
          StartTaskRequest.newBuilder()
              .setKey(key)
              .setSpec(spec)
              .setCodeArchive(archive.toString())
              .setIsServer(KindRules.of(spec).isServer(task.getRole()))
              .setGpus(Placement.gpus(spec, task.getRole()))
              .setLeaseUntilNanos(leaseEnd.getAsLong())
              .addAllPeers(peers.get())
              .putAllEnv(TaskEnvironment.of(job, attempt, task, nodeAddress))
              .putAllEnv(tlsEnvironment.get())
              .setContext(
                  TaskEnvironment.context(job, attempt, task, nodeAddress).toBuilder()
                      .setToken(local.token(key).text));
      addTimeouts(request, spec);
      settings.tasks.addTo(request, taskNice);
      agent.startTask(request.build());
      local.markStarted(key);
    } catch (StatusRuntimeException e) {
      local.fail(key, "the agent could not start it: " + e.getStatus().getDescription());
    } catch (TensorFlowIgniteException e) {
      String error = "its code could not be stored on the node: " + MessageText.reason(e);
      if (e.code() == ERROR_CODE_CODE_NOT_FOUND || e.code() == ERROR_CODE_CODE_INVALID) {
        local.failPermanently(key, error);
      } else {
        local.fail(key, error);
      }
    } catch (IOException e) {
      local.fail(key, "its code could not be stored on the node: " + MessageText.reason(e));
    }
  }

  private void planEnd(Attempt attempt, LocalAttempt local) {
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null || attempt.getPlannedEnd().equals(local.plannedEnd)) {
      return;
    }
    try {
      agent.planEnd(local.jobId, local.number, attempt.getPlannedEnd());
      local.plannedEnd = attempt.getPlannedEnd();
    } catch (StatusRuntimeException e) {
      log.warning(
          String.format(
              "The planned end of an attempt did not reach its tasks; the node retries [job=%s,"
                  + " attempt=%d, reason=%s]",
              local.jobId, local.number, e.getStatus()));
    }
  }

  /** Passes a request to the agent. A failure is only logged: the caller waits for files. */
  private void profile(TaskProfile request) {
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      return;
    }
    try {
      agent.profileTask(request);
    } catch (StatusRuntimeException e) {
      log.warning(
          String.format(
              "A request for a profile did not reach its task [job=%s, task=%s, reason=%s]",
              request.getKey().getJobId(), request.getName(), e.getStatus()));
    }
  }

  private void stop(LocalAttempt local, Duration grace, boolean dumpStacks) {
    if (local.hasEnded()) {
      local.reached = ATTEMPT_PHASE_STOP;
    }
    if (local.stopping || local.provenTerminated) {
      return;
    }
    AgentConnection agent = supervisor.agent().orElse(null);
    if (agent == null) {
      // The agent of these tasks has ended. The next agent kills their processes before it answers.
      return;
    }
    ListenableFuture<StopAttemptResponse> call =
        agent.stopAttempt(local.jobId, local.number, grace, dumpStacks);
    local.stopping = true;
    call.addListener(() -> wakeFor(() -> finishStop(local, call)), Runnable::run);
  }

  private void finishStop(LocalAttempt local, Future<StopAttemptResponse> call) {
    local.stopping = false;
    try {
      Futures.getDone(call);
      local.provenTerminated = true;
    } catch (ExecutionException e) {
      log.warning(
          String.format(
              "An attempt could not be stopped; the node retries [job=%s, attempt=%d, reason=%s]",
              local.jobId, local.number, e.getCause()));
    }
  }

  private void report(LocalAttempt local) {
    local.endRequest = endRequest();
    sender.offer(local.report(nodeId), local.job.getServiceNodeId());
  }

  /** Why the attempts with tasks on this node must end; empty: they continue. */
  private String endRequest() {
    boolean drained =
        nodeTable
            .get(nodeId)
            .map(node -> node.getAvailability() == NODE_AVAILABILITY_DRAINED)
            .orElse(false);
    return leaving ? "is being stopped" : drained ? "is drained" : "";
  }

  /** Number of nodes with tasks of the newest attempt. */
  private int nodes(TaskKey task) {
    return jobs.current(task.getJobId()).map(Job::getAttemptsList).orElse(List.of()).stream()
        .filter(attempt -> attempt.getNumber() == task.getAttempt())
        .mapToInt(
            attempt ->
                (int) attempt.getTasksList().stream().map(Task::getNodeId).distinct().count())
        .sum();
  }

  private Duration grace(Job job) {
    return job.getSpec().getTimeouts().hasStopGrace()
        ? job.getSpec().getTimeouts().getStopGrace()
        : duration(settings.stopGrace);
  }

  private static Duration duration(java.time.Duration setting) {
    return Durations.fromMillis(setting.toMillis());
  }

  private List<Task> localTasks(Attempt attempt) {
    return attempt.getTasksList().stream()
        .filter(task -> task.getNodeId().equals(nodeId))
        .collect(Collectors.toList());
  }
}
