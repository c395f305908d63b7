package io.tensorflowignite;

import com.google.protobuf.util.Durations;
import io.grpc.BindableService;
import io.tensorflowignite.agent.AgentSupervisor;
import io.tensorflowignite.agent.NodeRunner;
import io.tensorflowignite.api.ApiServer;
import io.tensorflowignite.api.JobChanges;
import io.tensorflowignite.api.NodeApiService;
import io.tensorflowignite.data.DataEndpoint;
import io.tensorflowignite.data.tcp.TcpPort;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.job.DataLosses;
import io.tensorflowignite.job.JobRemoval;
import io.tensorflowignite.job.JobServices;
import io.tensorflowignite.job.JobStore;
import io.tensorflowignite.job.LogArchive;
import io.tensorflowignite.job.Reconciler;
import io.tensorflowignite.job.Texts;
import io.tensorflowignite.job.TopologyEvents;
import io.tensorflowignite.security.Access;
import io.tensorflowignite.security.Authentication;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.security.IgniteSecurityAccess;
import io.tensorflowignite.security.Policy;
import io.tensorflowignite.security.TaskTokens;
import io.tensorflowignite.security.tls.NodeTls;
import io.tensorflowignite.storage.BlockMemoryEndpoint;
import io.tensorflowignite.storage.FileEndpoint;
import io.tensorflowignite.storage.Storage;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.table.NodeTable;
import io.tensorflowignite.table.ReportTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.AgentInfo;
import io.tensorflowignite.v1.AgentStart;
import io.tensorflowignite.v1.Node;
import io.tensorflowignite.v1.WatchResponse;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.services.ServiceConfiguration;

/**
 * Everything that the service runs on one node: brings the parts up in order, and down in the
 * opposite order.
 */
final class NodeRuntime implements AutoCloseable {
  private static final long RECONCILE_MS = 1_000;
  private static final long CLOSE_TIMEOUT_MS = 30_000;

  private final Ignite ignite;
  private final IgniteLogger log;
  private final ClusterSettings settings;
  private final String nodeId;
  private final Thread thread;
  private final Semaphore news = new Semaphore(0);
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  private NodeSettings local;
  private NodeTable nodes;
  private NodeRunner runner;
  private DataLosses losses;
  private Storage storage;
  private volatile Node self;
  private volatile String failure;
  private volatile boolean closed;

  NodeRuntime(Ignite ignite, ClusterSettings settings) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(TensorFlowService.class);
    this.settings = settings;
    this.nodeId = ignite.cluster().localNode().id().toString();
    this.thread = new Thread(this::run, "tensorflow-ignite-service");
  }

  void start() {
    thread.start();
  }

  String address() {
    Node known = self;
    return known == null ? null : known.getAddress();
  }

  String failure() {
    return failure;
  }

  @Override
  public void close() {
    closed = true;
    news.release();
    boolean interrupted = Thread.interrupted();
    try {
      thread.join(CLOSE_TIMEOUT_MS);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      Reconciler reconciler = bringUp();
      while (!closed) {
        reconcile(reconciler);
        news.tryAcquire(RECONCILE_MS, TimeUnit.MILLISECONDS);
        news.drainPermits();
      }
    } catch (InterruptedException e) {
      log.info("Service was interrupted [node=" + nodeId + "]");
    } catch (RuntimeException e) {
      if (!closed) {
        failure = e.getMessage() == null ? e.toString() : e.getMessage();
        log.error("The node cannot run TensorFlow tasks [node=" + nodeId + "]", e);
      }
    } finally {
      bringDown();
    }
  }

  private Reconciler bringUp() {
    local = NodeSettings.of(ignite);
    NodeTls tls = opened(tls());
    nodes = new NodeTable(ignite);
    JobTable jobs = new JobTable(ignite);
    JobChanges changes = new JobChanges();
    losses = new DataLosses(ignite, jobs);
    Authentication authentication = authentication(jobs);
    Guard guard =
        Guard.of(
            Access.of(settings.security().access()),
            cache -> SystemCache.isSystem(ignite, cache),
            settings.storage().name() + "-files");
    DataEndpoint data =
        opened(
            new DataEndpoint(
                ignite,
                new Directory(nodes, ignite, tls.isOn()),
                settings.batches(),
                guard,
                rowsPort(tls)));
    storage = opened(new Storage(ignite, settings.storage()));
    JobStore files = new JobStore(storage);
    CodeStore code = new CodeStore(files);
    JobRemoval removal = new JobRemoval(ignite, jobs, files);
    LogArchive archive = opened(new LogArchive(ignite, jobs, files));
    NodeApiService api =
        new NodeApiService(
            ignite, settings, jobs, nodes, changes, removal, files, guard, encrypts(tls));
    List<BindableService> services = new ArrayList<>(data.services());
    services.add(api);
    services.add(new FileEndpoint(ignite, storage, nodes, guard));
    services.add(BlockMemoryEndpoint.of(storage.memories(), guard));
    ApiServer server =
        opened(
            ApiServer.start(
                local.host,
                local.ports.first,
                local.ports.last,
                settings.batches(),
                log,
                tls,
                Collections.singletonList(authentication),
                services));
    String host = local.advertisedHost(ignite);
    String address = host + ":" + server.port();
    AgentSupervisor supervisor =
        new AgentSupervisor(local.python, agentStart(host), new AgentEvents(), log);
    runner =
        new NodeRunner(
            ignite,
            settings,
            supervisor,
            jobs,
            address,
            tls::taskEnvironment,
            code,
            agentDirectory());
    Reconciler reconciler =
        new Reconciler(
            ignite,
            settings,
            jobs,
            nodes,
            removal,
            archive,
            code,
            opened(new JobServices(ignite)),
            serviceFilter());
    opened(
        jobs.listen(
            (id, job) -> {
              changes.changed(id);
              runner.wake();
              news.release();
            }));
    opened(TopologyEvents.onDataLoss(ignite, losses::note));
    opened(TopologyEvents.onChange(ignite, news::release));
    publish(node(address));
    opened(supervisor).start();
    opened(runner).start();
    log.info("Node API is up [address=" + address + ", tls=" + tls + ", node=" + nodeId + "]");
    return reconciler;
  }

  private Authentication authentication(JobTable jobs) {
    IgniteSecurityAccess users = new IgniteSecurityAccess(ignite);
    Policy policy =
        Policy.of(settings.security(), users.knowsUsers(), settings.tls().clientCertificates());
    if (policy.requireAllowed(settings.security(), local.host, local.isLoopback())) {
      log.warning(
          "Everybody who reaches the node API can run code on this cluster: nobody is asked who he"
              + " is, as TensorFlowService.allowUnauthenticated says [host="
              + local.host
              + ", node="
              + nodeId
              + "]");
    }
    return new Authentication(
        policy,
        settings.security(),
        users,
        new TaskTokens(jobs, new ReportTable(ignite)),
        new OwnHosts(ignite, nodes::live),
        log);
  }

  /** Nothing is encrypted there. */
  private Optional<TcpPort> rowsPort(NodeTls tls) {
    return tls.isOn() || !local.rowsPorts.isAny()
        ? Optional.empty()
        : TcpPort.open(local.host, local.rowsPorts.first, local.rowsPorts.last, log);
  }

  private NodeTls tls() {
    return NodeTls.of(
        settings.tls(),
        local.tls,
        ignite.configuration().getSslContextFactory(),
        local.work.resolve("authorities.pem"),
        NodeTls.LOOK_AGAIN,
        Texts.shortId(nodeId),
        log);
  }

  /** Whether any connections of this cluster are encrypted, its nodes' own included. */
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
      } catch (Exception e) {
        log.warning("A part of the service did not close cleanly [node=" + nodeId + "]", e);
      }
    }
  }

  private void reconcile(Reconciler reconciler) {
    try {
      losses.look();
      reconciler.reconcile();
      if (nodes.isOldest(nodeId)) {
        storage.sweeper().sweepOverdue();
      }
    } catch (RuntimeException e) {
      if (!closed) {
        log.warning("The job table could not be brought up to date; trying again", e);
      }
    }
  }

  private AgentStart agentStart(String host) {
    return AgentStart.newBuilder()
        .setWorkDirectory(agentDirectory().toString())
        .setLeaseTimeout(Durations.fromMillis(settings.leaseTimeout().toMillis()))
        .setHost(host)
        .setNodeId(nodeId)
        .setLogLimitBytes(settings.logLimitBytes())
        .build();
  }

  private Path agentDirectory() {
    return local.work.resolve("agent");
  }

  private Node node(String address) {
    ClusterNode cluster = ignite.cluster().localNode();
    Package own = TensorFlowService.class.getPackage();
    return Node.newBuilder()
        .setId(nodeId)
        .setConsistentId(String.valueOf(cluster.consistentId()))
        .setOrder(cluster.order())
        .setAddress(address)
        .setHostName(hostName())
        .setPluginVersion(
            own.getImplementationVersion() == null ? "" : own.getImplementationVersion())
        .build();
  }

  private void publish(Node node) {
    self = node;
    nodes.put(node);
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      return "";
    }
  }

  /** Job services live where this service does: its node filter is theirs. */
  private IgnitePredicate<ClusterNode> serviceFilter() {
    IgniteConfiguration configuration = ignite.configuration();
    if (configuration.getServiceConfiguration() != null) {
      for (ServiceConfiguration service : configuration.getServiceConfiguration()) {
        if (service.getService() instanceof TensorFlowService) {
          return service.getNodeFilter();
        }
      }
    }
    return null;
  }

  private final class AgentEvents implements AgentSupervisor.Listener {
    @Override
    public void agentChanged(AgentInfo info) {
      publish(self.toBuilder().setAgent(info).build());
      runner.wake();
    }

    @Override
    public void agentLost(String reason) {
      runner.agentLost(reason);
      publish(self.toBuilder().setAgent(AgentInfo.newBuilder().setError(reason)).build());
    }

    @Override
    public void event(WatchResponse event) {
      runner.agentEvent(event);
    }
  }
}
