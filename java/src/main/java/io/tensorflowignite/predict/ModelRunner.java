package io.tensorflowignite.predict;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_FILE_NOT_FOUND;
import static io.tensorflowignite.v1.ModelState.MODEL_STATE_FAILED;
import static io.tensorflowignite.v1.NodeAvailability.NODE_AVAILABILITY_UNSPECIFIED;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.util.Durations;
import com.google.protobuf.util.Timestamps;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.predict.decide.Replicas;
import io.tensorflowignite.predict.decide.Rollover;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.table.DeploymentTable;
import io.tensorflowignite.table.ModelStateTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.v1.ModelDeployment;
import io.tensorflowignite.v1.ModelKey;
import io.tensorflowignite.v1.ModelStatus;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.NodeModels;
import io.tensorflowignite.v1.StartModelRequest;
import io.tensorflowignite.v1.TaskLimits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;

/**
 * Makes this node's model processes follow the table of deployments, and reports their states. One
 * thread does this after every change, and every second; every three seconds while nothing is
 * deployed. On the oldest node the thread also switches deployments to their next version.
 */
public final class ModelRunner implements AutoCloseable {
  private static final long TICK_MS = 1_000;
  private static final long IDLE_TICK_MS = 3_000;
  private static final Duration ERROR_PAUSE = Duration.ofSeconds(1);

  /** Longer than a pass with the copy of a large file and the end of a process. */
  private static final Duration PASS_LIMIT = Duration.ofMinutes(2);

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  /** Longest wait for the requests in the process of a version that is no longer served. */
  private static final Duration LONGEST_DRAIN = Duration.ofSeconds(30);

  /** Pause between attempts to copy the files of a version. */
  private static final Duration COPY_PAUSE = Duration.ofSeconds(5);

  /** Limit for the load of a version and its first calls; a client waits for as long. */
  private static final int LOAD_LIMIT_MINUTES = 10;

  private static final int THREADS = 2;

  /** The first Java with Unix sockets. */
  private static final int FIRST_JAVA = 16;

  private static final class Local {
    final ServedModel model;
    final ModelDeployment row;
    volatile boolean isStarted;
    volatile int restartsBefore;
    long retiredAt;
    boolean isRetired;
    boolean isEnding;
    boolean hasFailedCopy;
    long copyFailedAt;

    Local(ServedModel model, ModelDeployment row) {
      this.model = model;
      this.row = row;
    }
  }

  private final NodeTable nodes;
  private final DeploymentTable deployments;
  private final ModelStateTable states;
  private final ModelProcesses processes;
  private final ModelFiles files;
  private final List<String> inheritedEnvironment;
  private final int nice;
  private final NodeMetrics metrics;
  private final String nodeId;
  private final ModelChannels channels = new ModelChannels();
  private final ScheduledThreadPoolExecutor executor;
  private final Map<ModelKey, Local> locals = new ConcurrentHashMap<>();
  private final Semaphore changes = new Semaphore(0);
  private final Loop loop;
  private final Thread thread = new Thread(this::run, "tensorflow-ignite-model-runner");
  private volatile boolean closed;

  /**
   * @param agentDirectory the agent's directory; it exists while an agent runs
   * @param inheritedEnvironment further variables that model processes inherit
   * @param nice the nice value of model processes, equal to that of tasks
   * @param metrics counts the requests, batches and processes of this node
   */
  public ModelRunner(
      Ignite ignite,
      NodeTable nodes,
      Storage storage,
      ModelProcesses processes,
      Path agentDirectory,
      List<String> inheritedEnvironment,
      int nice,
      NodeMetrics metrics,
      Loops loops) {
    this.nodes = nodes;
    this.metrics = metrics;
    this.deployments = new DeploymentTable(ignite, this::wake);
    this.states = new ModelStateTable(ignite, this::wake);
    this.processes = processes;
    this.files = new ModelFiles(agentDirectory, storage);
    this.inheritedEnvironment = inheritedEnvironment;
    this.nice = nice;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.loop = loops.continuous("model runner", PASS_LIMIT, () -> closed);
    this.executor =
        new ScheduledThreadPoolExecutor(
            THREADS, IdleThreads.daemons("tensorflow-ignite-predict-%d"));
  }

  public void start() {
    report(Metric.MODEL_SERVING, model -> model.serves() ? 1 : 0);
    report(Metric.MODEL_RESTARTS, model -> model.status().getRestarts());
    report(Metric.MODEL_WAITING_ROWS, ServedModel::waitingRows);
    thread.start();
  }

  NodeMetrics metrics() {
    return metrics;
  }

  private void report(Metric metric, ToIntFunction<ServedModel> value) {
    metrics.observe(
        metric,
        to ->
            locals.entrySet().stream()
                .sorted(Comparator.comparing(entry -> text(entry.getKey())))
                .limit(NodeMetrics.MAX_VERSIONS)
                .forEach(
                    entry ->
                        to.add(
                            value.applyAsInt(entry.getValue().model),
                            entry.getKey().getName(),
                            Long.toString(entry.getKey().getNumber()))));
  }

  public DeploymentTable deployments() {
    return deployments;
  }

  /** Starts a pass, since a table or the nodes may have changed. */
  public void wake() {
    changes.release();
  }

  /** Reads the tables again, since partitions have moved. */
  public void compare() {
    deployments.compare();
    states.compare();
    wake();
  }

  /** Takes a report of the agent. */
  public void observe(ModelStatus status) {
    Local local = locals.get(status.getKey());
    if (local != null && local.isStarted) {
      local.model.observe(
          status.toBuilder().setRestarts(status.getRestarts() + local.restartsBefore).build());
      wake();
    }
  }

  /** The agent has ended, and all its processes with it. */
  public void agentLost(String reason) {
    for (Local local : locals.values()) {
      if (local.isStarted) {
        local.isStarted = false;
        ModelStatus before = local.model.status();
        local.restartsBefore = before.getRestarts() + 1;
        local.model.observe(
            before.toBuilder()
                .setState(MODEL_STATE_FAILED)
                .setRestarts(local.restartsBefore)
                .setError(reason)
                .clearSocket()
                .clearPid()
                .build());
      }
    }
    wake();
  }

  /** The version on this node; empty: this node does not serve it. */
  Optional<ServedModel> served(ModelKey key) {
    return Optional.ofNullable(locals.get(key)).map(local -> local.model);
  }

  /** The model processes of all nodes, by the ids of the nodes. */
  public Map<String, List<ModelStatus>> states() {
    return states.all();
  }

  /**
   * The number of models whose current version this node is to serve, and does not serve yet;
   * empty: this node does not know all models yet.
   */
  public OptionalLong coldModels() {
    if (!nodes.isWhole() || !deployments.isWhole()) {
      return OptionalLong.empty();
    }
    List<String> able = able();
    return OptionalLong.of(
        deployments.all().stream()
            .filter(row -> row.getCurrent() != 0)
            .filter(row -> Replicas.of(row.getName(), able, row.getReplicas()).contains(nodeId))
            .filter(row -> served(key(row, row.getCurrent())).filter(ServedModel::serves).isEmpty())
            .count());
  }

  private void run() {
    loop.run(ERROR_PAUSE, this::pass);
  }

  private void pass() throws InterruptedException {
    boolean idle = locals.isEmpty() && deployments.all().isEmpty();
    if (changes.tryAcquire(idle ? IDLE_TICK_MS : TICK_MS, TimeUnit.MILLISECONDS)) {
      changes.drainPermits();
    }
    // With parts of the tables alone, it would load models of other nodes, and end its own.
    if (nodes.isWhole() && deployments.isWhole() && states.isWhole()) {
      follow();
    }
    loop.part("states of models", this::publish);
  }

  private void follow() throws InterruptedException {
    List<Node> live =
        nodes.live().stream().filter(Node::getServesModels).collect(Collectors.toList());
    List<String> able = able();
    Map<String, List<ModelStatus>> known = states.all();
    List<ModelDeployment> rows = deployments.all();
    Map<ModelKey, ModelDeployment> desired = new HashMap<>();
    for (ModelDeployment row : rows) {
      List<String> chosen = Replicas.of(row.getName(), able, row.getReplicas());
      for (long number : Rollover.versions(row)) {
        ModelKey key = key(row, number);
        if (chosen.contains(nodeId) || isNeeded(row, key, chosen, known)) {
          desired.put(key, row);
        }
      }
    }
    desired.forEach(
        (key, row) -> locals.computeIfAbsent(key, added -> new Local(served(added, row), row)));
    // Before copies of files, which may take long: a caller of undeploy waits for these states.
    loop.part("states of models", this::publish);
    for (Map.Entry<ModelKey, ModelDeployment> one : desired.entrySet()) {
      loop.part(text(one.getKey()), () -> serve(one.getKey(), one.getValue()));
    }
    for (ModelKey key : new ArrayList<>(locals.keySet())) {
      if (!desired.containsKey(key)) {
        loop.part("end of " + text(key), () -> end(key, locals.get(key)));
      }
    }
    if (!live.isEmpty() && live.get(0).getId().equals(nodeId)) {
      // This pass may have ended processes whose published state is still "serving".
      loop.part("states of models", this::publish);
      Map<String, List<ModelStatus>> now = states.all();
      for (ModelDeployment row : rows) {
        loop.part("deployment " + row.getName(), () -> advance(row, able, now));
      }
      states.removeDeparted();
    }
  }

  private boolean isNeeded(
      ModelDeployment row,
      ModelKey key,
      List<String> chosen,
      Map<String, List<ModelStatus>> known) {
    Local here = locals.get(key);
    return here != null
        && !here.isRetired
        && Rollover.isNeeded(row, here.model.status(), chosen, known);
  }

  private void serve(ModelKey key, ModelDeployment row) throws IOException {
    Local local = locals.get(key);
    if (hasChanged(row)) {
      return;
    }
    // No further report comes of a process that its agent ends; then another one is started.
    if (local.isEnding || Rollover.isOutdated(key.getNumber(), local.row, row)) {
      end(key, local);
      return;
    }
    if (local.isRetired) {
      local.isRetired = false;
      local.model.restore();
    }
    boolean pauses =
        local.hasFailedCopy && System.nanoTime() - local.copyFailedAt < COPY_PAUSE.toNanos();
    // Only when the agent is ready: at its start it removes all files of its directory.
    if (local.isStarted || pauses || !processes.isReady()) {
      return;
    }
    if (Runtime.version().feature() < FIRST_JAVA) {
      failed(local, true, "nodes serve models with Java " + FIRST_JAVA + " or later");
      return;
    }
    try {
      Optional<Path> directory = files.copy(key, () -> continues(row));
      if (directory.isEmpty() || hasChanged(row)) {
        return;
      }
      // Before the start, since reports may come at once. The end of the agent sets it to false.
      local.isStarted = true;
      boolean started =
          processes.start(
              StartModelRequest.newBuilder()
                  .setKey(key)
                  .setDirectory(directory.get().toString())
                  .setNice(nice)
                  .setLoadTimeout(Durations.fromMinutes(LOAD_LIMIT_MINUTES))
                  .setMaxAnswerBytes(ModelChannels.maxAnswerBytes())
                  .setLimits(TaskLimits.newBuilder().setMemoryBytes(row.getMemoryBytes()))
                  .addAllInheritedEnv(inheritedEnvironment)
                  .build());
      if (!started) {
        local.isStarted = false;
      }
      local.hasFailedCopy = false;
    } catch (StatusRuntimeException e) {
      local.isStarted = false;
      local.hasFailedCopy = true;
      local.copyFailedAt = System.nanoTime();
      failed(local, false, "its agent did not start the process: " + MessageText.reason(e));
    } catch (TensorFlowIgniteException | IOException e) {
      local.hasFailedCopy = true;
      local.copyFailedAt = System.nanoTime();
      boolean missing =
          e instanceof TensorFlowIgniteException
              && ((TensorFlowIgniteException) e).code() == ERROR_CODE_FILE_NOT_FOUND;
      failed(local, missing, "its files could not be copied to the node: " + MessageText.reason(e));
    }
  }

  /** Called during a copy of files: whether the copy is still needed. */
  private boolean continues(ModelDeployment row) {
    loop.alive();
    return !closed && !hasChanged(row);
  }

  /** Whether the row has changed during a copy of files; then the next pass applies the change. */
  private boolean hasChanged(ModelDeployment row) {
    return deployments.get(row.getName()).filter(row::equals).isEmpty();
  }

  private static void failed(Local local, boolean isUnusable, String error) {
    local.model.observe(
        local.model.status().toBuilder()
            .setState(MODEL_STATE_FAILED)
            .setUnusable(isUnusable)
            .setError(error)
            .build());
  }

  private ServedModel served(ModelKey key, ModelDeployment row) {
    return new ServedModel(
        key,
        row.getBatches(),
        channels,
        executor,
        rows -> metrics.batch(key.getName(), key.getNumber(), rows),
        reason -> processes.restart(key, reason));
  }

  private void end(ModelKey key, Local local) throws IOException {
    if (!local.isRetired) {
      local.isRetired = true;
      local.retiredAt = System.nanoTime();
      local.model.retire();
    }
    boolean late = System.nanoTime() - local.retiredAt > LONGEST_DRAIN.toNanos();
    if (local.isEnding || local.model.isIdle() || late) {
      local.isEnding = true;
      processes.stop(key);
      local.model.close("the version is not served any more");
      locals.remove(key);
      files.remove(key);
    } else {
      wake();
      Uninterruptibles.sleepUninterruptibly(Duration.ofMillis(20));
    }
  }

  private void publish() {
    NodeModels.Builder now = NodeModels.newBuilder().setNodeId(nodeId);
    locals.values().stream()
        .map(ModelRunner::published)
        .sorted(Comparator.comparing(status -> text(status.getKey())))
        .forEach(now::addModels);
    Optional<NodeModels> stored = states.get(nodeId);
    boolean isNew = stored.isEmpty() && now.getModelsCount() > 0;
    if (isNew || stored.filter(row -> !row.equals(now.build())).isPresent()) {
      states.put(now.build());
    }
  }

  /**
   * The published state of a process. A process that is about to end counts for no deployment,
   * whether it serves or has failed.
   */
  private static ModelStatus published(Local local) {
    ModelStatus status = local.model.status();
    return local.isRetired ? status.toBuilder().clearState().clearSocket().build() : status;
  }

  private void advance(
      ModelDeployment row, List<String> able, Map<String, List<ModelStatus>> known) {
    List<String> chosen = Replicas.of(row.getName(), able, row.getReplicas());
    Rollover.next(row, chosen, known, Timestamps.fromMillis(System.currentTimeMillis()))
        .ifPresent(
            next -> {
              if (next.getCurrent() != row.getCurrent()) {
                // Before the row: a caller that reads the new version there finds it by the label.
                files.label(row.getName(), next.getCurrent());
              }
              ModelDeployment stored =
                  deployments.change(row.getName(), found -> found.equals(row) ? next : found);
              if (stored.getCurrent() != next.getCurrent() && stored.getCurrent() != 0) {
                // A caller has changed the row meanwhile: the label of `next` is not valid.
                files.label(row.getName(), stored.getCurrent());
              }
            });
  }

  @Override
  public void close() {
    closed = true;
    wake();
    thread.interrupt();
    Uninterruptibles.joinUninterruptibly(thread, CLOSE_TIMEOUT);
    locals.values().forEach(local -> local.model.close("the node is being stopped"));
    executor.shutdownNow();
    channels.close();
    deployments.close();
    states.close();
  }

  /** The ids of the nodes on which models can be served. */
  private List<String> able() {
    return nodes.live().stream()
        .filter(ModelRunner::canServe)
        .map(Node::getId)
        .collect(Collectors.toList());
  }

  private static boolean canServe(Node node) {
    return node.getServesModels()
        && node.getAvailability() == NODE_AVAILABILITY_UNSPECIFIED
        && node.getAgent().getError().isEmpty()
        && !node.getAgent().getTensorflowVersion().isEmpty();
  }

  private static ModelKey key(ModelDeployment row, long number) {
    return ModelKey.newBuilder().setName(row.getName()).setNumber(number).build();
  }

  private static String text(ModelKey key) {
    return "model " + key.getName() + ":" + key.getNumber();
  }
}
