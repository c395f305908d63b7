package io.tensorflowignite.node;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_MODEL_NOT_SERVED;

import com.google.common.net.HostAndPort;
import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.util.Durations;
import io.grpc.BindableService;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.agent.AgentModels;
import io.tensorflowignite.agent.AgentSupervisor;
import io.tensorflowignite.agent.NodeRunner;
import io.tensorflowignite.api.BlockMemoryService;
import io.tensorflowignite.api.DataEndpoint;
import io.tensorflowignite.api.FileService;
import io.tensorflowignite.api.JobChangeBus;
import io.tensorflowignite.api.MetricsApiService;
import io.tensorflowignite.api.ModelService;
import io.tensorflowignite.api.ModelStatusService;
import io.tensorflowignite.api.NodeApiService;
import io.tensorflowignite.api.PredictionService;
import io.tensorflowignite.api.ServedFiles;
import io.tensorflowignite.api.ServedReferences;
import io.tensorflowignite.base.Loop;
import io.tensorflowignite.base.Loops;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.data.change.ChangeFeeds;
import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.loss.LossDetector;
import io.tensorflowignite.data.loss.RestoredCopies;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.http.HttpApi;
import io.tensorflowignite.ignite.PartitionMapAge;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.ExportedModels;
import io.tensorflowignite.job.JobAdmission;
import io.tensorflowignite.job.JobFileStore;
import io.tensorflowignite.job.JobMetrics;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.JobServices;
import io.tensorflowignite.job.JobView;
import io.tensorflowignite.job.LogArchive;
import io.tensorflowignite.job.ObservedJobs;
import io.tensorflowignite.job.OutputNews;
import io.tensorflowignite.job.Reconciler;
import io.tensorflowignite.job.ReportInbox;
import io.tensorflowignite.job.TopologyEvents;
import io.tensorflowignite.lease.ContactRounds;
import io.tensorflowignite.lease.Contacts;
import io.tensorflowignite.lease.Departures;
import io.tensorflowignite.lease.NodeContact;
import io.tensorflowignite.metrics.IgniteExport;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.plain.PlainJobs;
import io.tensorflowignite.predict.ModelRunner;
import io.tensorflowignite.predict.PlainPredictions;
import io.tensorflowignite.predict.Predictor;
import io.tensorflowignite.predict.sql.SqlPredictions;
import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.rpc.ApiServer;
import io.tensorflowignite.rpc.InProcessApi;
import io.tensorflowignite.rpc.WarningInterceptor;
import io.tensorflowignite.security.Authentication;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.security.IgniteSecurityAccess;
import io.tensorflowignite.security.ServiceCallers;
import io.tensorflowignite.security.TaskTokens;
import io.tensorflowignite.security.decide.AccessRules;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.security.tls.ForwardedCertificates;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.security.tls.PeerCertificates;
import io.tensorflowignite.settings.ClusterSettings;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.table.JobIndex;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.HeartbeatRequest;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.WatchResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.lang.IgnitePredicate;

/** All parts of the service on one node: starts them in order, and closes them in reverse order. */
public final class NodeRuntime implements AutoCloseable {
  private static final long RECONCILE_MS = 1_000;

  /** Pause between passes while there is no job, and the node is not in a minority. */
  private static final long IDLE_RECONCILE_MS = 3_000;

  private static final Duration ERROR_PAUSE = Duration.ofSeconds(1);
  private static final Duration PASS_LIMIT = Duration.ofMinutes(1);
  private static final long CLOSE_TIMEOUT_MS = 30_000;

  /** Number of nodes that an agent may call after its own node, and perhaps others, were killed. */
  private static final int MAX_PEERS = 8;

  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final IgnitePredicate<ClusterNode> nodeFilter;
  private final String nodeId;
  private final String serviceName;
  private final Contacts contacts;
  private final InactiveApi inactive;
  private final PartitionMapAge age;
  private final Loops loops;
  private final Loop loop;
  private final Thread thread;
  private final Semaphore changes = new Semaphore(0);
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  private NodeSettings local;
  private NodeTable nodes;
  private Departures departures;
  private JobIndex index;
  private volatile ObservedJobs observed;
  private volatile NodeRunner runner;
  private volatile ModelRunner models;
  private volatile PlainPredictions predictions;
  private volatile PlainJobs plainJobs;
  private volatile List<String> peers = List.of();
  private volatile ContactRounds rounds;
  private LossDetector detector;
  private ChangeFeeds feeds;
  private RestoredCopies copies;
  private Storage storage;
  private IgniteExport export;
  private volatile NodeRow self;
  private volatile String failure;
  private volatile boolean closed;
  private boolean ending;

  /**
   * @param serviceName the name under which the service is deployed
   * @param nodeFilter the nodes that may host jobs' services; null: every server node
   */
  public NodeRuntime(
      Ignite ignite,
      String serviceName,
      IgniteLogger log,
      ClusterSettings settings,
      IgnitePredicate<ClusterNode> nodeFilter) {
    this.ignite = ignite;
    this.log = log;
    this.settings = settings;
    this.nodeFilter = nodeFilter;
    this.serviceName = serviceName;
    this.contacts =
        new Contacts(
            ignite.cluster().localNode().consistentId().toString(),
            settings.leaseTimeout,
            System::nanoTime);
    this.inactive = InactiveApi.of(ignite);
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.age = PartitionMapAge.of(ignite);
    this.loops = Loops.of(ignite);
    this.loop = loops.continuous("reconciler", PASS_LIMIT, () -> closed);
    this.thread = new Thread(this::run, "tensorflow-ignite-service");
  }

  public void start() {
    thread.start();
  }

  /** The context of {@code NodeSslContextFactory}. */
  public static SSLContext contextBetweenNodes() {
    return NodeTls.betweenNodes(NodeSettings.pemFiles());
  }

  public String address() {
    NodeRow known = self;
    return known == null ? null : known.address();
  }

  public String failure() {
    return failure;
  }

  /** Takes the call of another node, see {@link NodeContact}. */
  public void contact(String caller, String[] answered) {
    contacts.add(caller, Arrays.asList(answered));
  }

  /** Takes the call of another node, see {@link NodeContact#contactAllBut}. */
  public boolean contactAllBut(String caller, String nodesDigest, String[] silent) {
    ContactRounds calling = rounds;
    return calling != null && calling.contactAllBut(caller, nodesDigest, silent);
  }

  /** Answers the call of another node for jobs, see {@link JobView}. */
  public byte[][] observe(String[] jobIds, boolean summaries) {
    ObservedJobs started = observed;
    return started == null ? new byte[jobIds.length][] : started.observe(jobIds, summaries);
  }

  /**
   * Answers a call for predictions, by a client of Ignite or by another node.
   *
   * @throws TensorFlowIgniteException the text ends with the name of its code
   */
  public <R> R predict(Function<PlainPredictions, R> call) {
    PlainPredictions started = predictions;
    try {
      if (started == null) {
        throw new TensorFlowIgniteException(
            ERROR_CODE_MODEL_NOT_SERVED,
            "The node "
                + MessageText.shortId(nodeId)
                + " does not serve yet, or could not start. Models are served by nodes with a"
                + " running service. Call another node; see: tensorflow-ignite nodes");
      }
      return call.apply(started);
    } catch (TensorFlowIgniteException e) {
      throw new TensorFlowIgniteException(e.code(), e.description());
    }
  }

  /**
   * Answers a call for jobs by a client of Ignite.
   *
   * @throws TensorFlowIgniteException the text ends with the name of its code
   */
  public <R> R jobs(Function<PlainJobs, R> call) {
    PlainJobs started = plainJobs;
    if (started == null) {
      TensorFlowIgniteException error =
          new TensorFlowIgniteException(
              ERROR_CODE_CLUSTER_NOT_ACTIVE,
              "The node "
                  + MessageText.shortId(nodeId)
                  + " does not serve yet, or could not start. Jobs are served by nodes with a"
                  + " running service in an active cluster. Call another node; see:"
                  + " tensorflow-ignite nodes");
      throw new TensorFlowIgniteException(error.code(), error.description());
    }
    return call.apply(started);
  }

  @Override
  public void close() {
    closed = true;
    changes.release();
    Uninterruptibles.joinUninterruptibly(thread, CLOSE_TIMEOUT_MS, TimeUnit.MILLISECONDS);
  }

  private void run() {
    try {
      Reconciler reconciler = bringUp();
      loop.run(
          ERROR_PAUSE,
          () -> {
            reconcile(reconciler);
            boolean idle = !index.hasCurrent() && departures.minority().isEmpty();
            changes.tryAcquire(idle ? IDLE_RECONCILE_MS : RECONCILE_MS, TimeUnit.MILLISECONDS);
            changes.drainPermits();
          });
    } catch (Throwable e) {
      // Only the start of the parts throws, also an Error: this node cannot run tasks.
      if (!closed) {
        failure = e.getMessage() == null ? e.toString() : e.getMessage();
        log.error("The node cannot run TensorFlow tasks [node=" + nodeId + "]", e);
      }
    } finally {
      bringDown();
    }
  }

  private Reconciler bringUp() {
    inactive.close();
    local = NodeSettings.of(ignite);
    SocketBuffers.check(ignite, log);
    NodeTls tls = opened(local.tls(ignite, settings.tls, loops, log));
    nodes = opened(NodeTable.copied(ignite));
    departures = Departures.of(ignite);
    JobTable jobs = new JobTable(ignite);
    JobChangeBus jobChanges = new JobChangeBus();
    index =
        opened(
            JobIndex.open(
                ignite,
                id -> {
                  jobChanges.changed(id);
                  NodeRunner started = runner;
                  if (started != null) {
                    started.wake();
                  }
                  ContactRounds calling = rounds;
                  if (calling != null) {
                    calling.wake();
                  }
                  changes.release();
                }));
    observed = opened(new ObservedJobs(ignite, serviceName));
    OutputNews news = opened(OutputNews.open(ignite));
    detector = opened(LossDetector.open(ignite, changes::release));
    copies = new RestoredCopies(ignite);
    feeds = opened(ChangeFeeds.open(ignite));
    CacheLosses losses = new CacheLosses(ignite, detector);
    IgniteSecurityAccess users = new IgniteSecurityAccess(ignite);
    AuthenticationPolicy policy = policy(users);
    Authentication authentication = authentication(jobs, users, policy);
    Guard guard =
        Guard.of(
            AccessRules.of(settings.security.access()),
            cache -> SystemCache.isSystem(ignite, cache),
            settings.storage.name + "-files");
    DataEndpoint data =
        opened(
            new DataEndpoint(
                ignite,
                new NodeTableDirectory(nodes, ignite, tls.isOn()),
                losses,
                feeds,
                settings.batches,
                settings.readRate,
                guard,
                rowsPort(tls)));
    storage = opened(new Storage(ignite, settings.storage));
    JobFileStore files = new JobFileStore(storage);
    opened(ExportedModels.open(ignite, files));
    CodeStore code = new CodeStore(files);
    JobRemoval removal = new JobRemoval(ignite, jobs, files);
    LogArchive archive = opened(new LogArchive(ignite, jobs, files));
    JobAdmission admission = new JobAdmission(ignite, settings, jobs, nodes, losses);
    NodeApiService api =
        new NodeApiService(
            ignite,
            settings,
            jobs,
            index,
            observed,
            admission,
            nodes,
            jobChanges,
            news,
            removal,
            files,
            losses,
            guard,
            encrypts(tls));
    String host = local.advertisedHost(ignite);
    AgentSupervisor supervisor =
        new AgentSupervisor(local.python, agentStart(host), new AgentEvents(), loops, log);
    NodeMetrics metrics = new NodeMetrics();
    JobMetrics.observe(metrics, index, ReportInbox.of(ignite));
    data.observe(metrics);
    losses.observe(metrics);
    Baseline.observe(ignite, metrics);
    MemoryReserve.of(ignite).observe(storage.caches().blocksName(), metrics);
    export = export(metrics);
    models =
        opened(
            new ModelRunner(
                ignite,
                nodes,
                storage,
                new AgentModels(supervisor),
                agentDirectory(),
                settings.tasks.environment(),
                nice(),
                metrics,
                loops));
    Predictor predictor = opened(new Predictor(ignite, serviceName, models));
    ServedReferences references = new ServedReferences(storage);
    ServiceCallers callers = new ServiceCallers(ignite, policy, users);
    predictions = new PlainPredictions(ignite, predictor, guard, callers, references::of);
    plainJobs = opened(new PlainJobs(api, callers, log));
    if (settings.sqlFunctions) {
      opened(SqlPredictions.open(ignite, nodes, predictions));
    }
    List<BindableService> overHttp =
        List.of(
            new PredictionService(predictor, references, guard),
            new ModelStatusService(models, references, guard),
            new MetricsApiService(metrics, guard),
            api,
            new ModelService(models, predictor, storage, guard),
            new FileService(
                ignite, storage, nodes, guard, new ServedFiles(models.deployments(), guard)));
    List<BindableService> services = new ArrayList<>(data.services());
    services.addAll(overHttp);
    services.add(BlockMemoryService.of(storage.memories(), guard));
    ApiServer server =
        opened(
            ApiServer.start(
                local.host,
                local.ports.first,
                local.ports.last,
                settings.batches,
                log,
                tls.context(),
                List.of(
                    new PeerCertificates(),
                    authentication,
                    new WarningInterceptor(() -> departures.minority().map(now -> now.text))),
                services));
    String address = HostAndPort.fromParts(host, server.port()).toString();
    String httpAddress =
        httpAddress(
            tls,
            host,
            List.of(new ForwardedCertificates(), authentication, server.responses()),
            overHttp,
            !policy.requiresAuthentication());
    runner =
        new NodeRunner(
            ignite,
            settings,
            nice(),
            supervisor,
            index,
            nodes,
            address,
            tls::taskEnvironment,
            this::updatePeers,
            code,
            news,
            contacts,
            agentDirectory(),
            loops);
    Reconciler reconciler =
        new Reconciler(
            ignite,
            settings,
            jobs,
            index,
            nodes,
            removal,
            archive,
            code,
            opened(new JobServices(ignite)),
            admission,
            nodeFilter,
            loop);
    opened(
        TopologyEvents.onChange(
            ignite,
            () -> {
              index.compare();
              nodes.compare();
              models.compare();
              changes.release();
            }));
    NodeRow row =
        opened(
            new NodeRow(
                ignite,
                nodes,
                loops,
                copies,
                runner::quarantine,
                address,
                httpAddress,
                maxTasks()));
    row.start();
    self = row;
    rounds =
        opened(
            new ContactRounds(
                ignite,
                serviceName,
                nodes,
                contacts,
                index::hasCurrent,
                settings.leaseTimeout,
                loops));
    rounds.start();
    models.start();
    opened(supervisor).start();
    opened(runner).start();
    opened(StopHook.install(ignite, new OrderlyStop(ignite, log, self, runner, jobs, index)));
    log.info("Node API is up [address=" + address + ", tls=" + tls + ", node=" + nodeId + "]");
    if (log.isQuiet()) {
      // In Ignite's quiet mode the console shows no lines of the log.
      System.out.printf(
          "[%tT] tensorflow-ignite is up: clients call this node at %s (%s).%n",
          LocalTime.now(), address, tls.isOn() ? "TLS" : "no TLS");
    }
    return reconciler;
  }

  private AuthenticationPolicy policy(IgniteSecurityAccess users) {
    AuthenticationPolicy policy =
        AuthenticationPolicy.of(
            settings.security, users.knowsUsers(), settings.tls.clientCertificates);
    if (policy.requireAllowed(settings.security, local.host, local.isLoopback())) {
      log.warning(
          "Everybody who can connect to the node API can run code on this cluster: callers are not"
              + " authenticated, since TensorFlowService.security.allowUnauthenticated is set"
              + " [host="
              + local.host
              + ", node="
              + nodeId
              + "]");
    }
    return policy;
  }

  private Authentication authentication(
      JobTable jobs, IgniteSecurityAccess users, AuthenticationPolicy policy) {
    return new Authentication(
        policy,
        settings.security,
        users,
        new TaskTokens(jobs),
        new ClusterHosts(ignite, nodes::live),
        log);
  }

  /** Opens the port for rows over TCP, which are not encrypted; empty with TLS. */
  private Optional<TcpPort> rowsPort(NodeTls tls) {
    return tls.isOn() || !local.rowsPorts.isAny()
        ? Optional.empty()
        : TcpPort.open(local.host, local.rowsPorts.first, local.rowsPorts.last, loops, log);
  }

  /** Opens the HTTP port, if it is set; returns its address, or an empty text. */
  private String httpAddress(
      NodeTls tls,
      String host,
      List<ServerInterceptor> interceptors,
      List<BindableService> services,
      boolean isOpen) {
    if (!local.httpPorts.isAny()) {
      return "";
    }
    HttpApi http =
        opened(
            NodeHttp.open(
                ignite,
                local,
                settings,
                tls,
                InProcessApi.start(log, interceptors, services),
                new NodeChecks(ignite, nodes, models),
                isOpen,
                log));
    String address = HostAndPort.fromParts(host, http.port()).toString();
    log.info("The HTTP port is up [address=" + address + ", tls=" + tls.isOn() + "]");
    return address;
  }

  /** Whether some connections of this cluster are encrypted, to clients or between nodes. */
  private boolean encrypts(NodeTls tls) {
    return tls.isOn() || ignite.configuration().getSslContextFactory() != null;
  }

  private <P extends AutoCloseable> P opened(P part) {
    parts.push(part);
    return part;
  }

  private void bringDown() {
    while (!parts.isEmpty()) {
      try {
        parts.pop().close();
      } catch (Throwable e) {
        log.warning("A part of the service could not be closed [node=" + nodeId + "]", e);
      }
    }
    inactive.open(settings);
  }

  private void storeLosses() {
    detector.observers(
        nodes.live().stream()
            .map(node -> UUID.fromString(node.getId()))
            .collect(Collectors.toSet()));
    detector.store();
    feeds.closeIdle();
  }

  /** Updates the peers for heartbeats, which must not wait for a cache while nodes leave. */
  private List<String> updatePeers() {
    List<String> current =
        nodes.live().stream()
            .filter(node -> !node.getId().equals(nodeId))
            .map(Node::getAddress)
            .limit(MAX_PEERS)
            .collect(Collectors.toList());
    peers = current;
    return current;
  }

  /** Null: Ignite before 2.17 has no registries for the metrics of others. */
  private IgniteExport export(NodeMetrics metrics) {
    try {
      return opened(new IgniteExport(metrics, ignite.metrics()));
    } catch (NoSuchMethodError e) {
      return null;
    }
  }

  private void reconcile(Reconciler reconciler) throws InterruptedException {
    updatePeers();
    age.observe();
    ReportInbox.of(ignite)
        .repeatProofs(id -> index.current(id).map(Job::getServiceNodeId).orElse(""));
    loop.part("lost partitions", this::storeLosses);
    loop.part("services of jobs", reconciler::reconcile);
    loop.part("minority", this::endInMinority);
    if (export != null) {
      loop.part("metrics", export::update);
    }
    if (nodes.isOldest(nodeId)) {
      loop.part("restored partitions", () -> copies.reset(nodes.live()));
      storage.sweeper().sweepOverdue();
    }
  }

  private void endInMinority() {
    if (!ending) {
      local
          .onMinority
          .reasonToStop(departures.minority(), settings.leaseTimeout)
          .ifPresent(this::endNode);
    }
  }

  /** Stops Ignite in order. On a thread of its own, since that waits for the end of our loop. */
  private void endNode(String reason) {
    ending = true;
    log.error("This node ends, and is to be started again: " + reason + " [node=" + nodeId + "]");
    new Thread(() -> Ignition.stop(ignite.name(), true), "tensorflow-ignite-end").start();
  }

  private AgentStart agentStart(String host) {
    return AgentStart.newBuilder()
        .setWorkDirectory(agentDirectory().toString())
        .setLeaseTimeout(Durations.fromMillis(settings.leaseTimeout.toMillis()))
        .setHost(host)
        .setNodeId(nodeId)
        .setLogLimitBytes(settings.logLimitBytes)
        .setWarmProcesses(local.warmProcesses.orElse(settings.tasks.warmProcesses))
        .addAllInheritedEnv(settings.tasks.environment())
        .build();
  }

  /** The priority of the processes beside this node. */
  private int nice() {
    return local.taskNice.orElse(settings.tasks.nice);
  }

  private int maxTasks() {
    return local.maxTasks.orElseGet(
        () -> settings.queue.maxTasks(Runtime.getRuntime().availableProcessors()));
  }

  private Path agentDirectory() {
    return local.work.resolve("agent");
  }

  private final class AgentEvents implements AgentSupervisor.Listener {
    @Override
    public void agentChanged(AgentInfo info) {
      self.agent(info);
      runner.wake();
      models.wake();
    }

    @Override
    public void agentLost(String reason) {
      runner.agentLost(reason);
      models.agentLost(reason);
      self.agent(AgentInfo.newBuilder().setError(reason).build());
    }

    @Override
    public void event(WatchResponse event) {
      if (event.hasModel()) {
        try {
          models.observe(event.getModel());
        } catch (RuntimeException e) {
          // An error would end the stream, which also has the reports of tasks.
          log.error("A report on a model process cannot be used", e);
        }
      } else {
        runner.agentEvent(event);
      }
    }

    @Override
    public HeartbeatRequest heartbeat() {
      return HeartbeatRequest.newBuilder().addAllLeases(runner.leases()).addAllPeers(peers).build();
    }
  }
}
