package io.tensorflowignite.embedded;

import io.tensorflowignite.NodeSslContextFactory;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.ignite.NodeConfiguration;
import io.tensorflowignite.node.InactiveApi;
import io.tensorflowignite.node.StopHook;
import io.tensorflowignite.security.tls.NodeTls;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteState;
import org.apache.ignite.Ignition;
import org.apache.ignite.IgnitionListener;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.events.DiscoveryEvent;
import org.apache.ignite.events.EventType;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.services.ServiceConfiguration;

/** An Ignite server node with our service, which the program around it starts and stops. */
public final class EmbeddedNode {
  private static final int[] TOPOLOGY_EVENTS = {
    EventType.EVT_NODE_JOINED, EventType.EVT_NODE_LEFT, EventType.EVT_NODE_FAILED
  };
  private static final long ADDRESS_POLL_MILLIS = 20;

  private final Ignite ignite;
  private final ServiceConfiguration service;
  private final Path logFile;
  private final Object change = new Object();
  private Topology topology;
  private boolean stopped;

  private EmbeddedNode(Ignite ignite, ServiceConfiguration service, Path logFile) {
    this.ignite = ignite;
    this.service = service;
    this.logFile = logFile;
  }

  /**
   * Starts the node and joins its cluster. The service's API may answer later; {@link
   * #awaitAddress} waits for it.
   */
  public static EmbeddedNode start(EmbeddedSettings settings)
      throws IgniteCheckedException, IOException {
    NodeConfiguration file =
        settings.springXml() == null
            ? NodeConfiguration.ofDefaults()
            : NodeConfiguration.ofSpring(settings.springXml());
    IgniteConfiguration configuration = file.ignite();
    settings.applyTo(configuration);
    NodeTls.checkStores(
        configuration.getSslContextFactory(),
        String.valueOf(configuration.getIgniteInstanceName()));
    if (configuration.getSslContextFactory() instanceof NodeSslContextFactory) {
      configuration.getSslContextFactory().create();
    }
    Path log = null;
    if (configuration.getGridLogger() == null) {
      String name = configuration.getIgniteInstanceName();
      log =
          NodeLog.file(
              Path.of(file.workDirectory(), "log"), name == null ? "ignite" : "ignite-" + name);
      configuration.setGridLogger(NodeLog.into(log));
    }
    ServiceConfiguration service = TensorFlowService.configured(configuration);
    EmbeddedNode node = new EmbeddedNode(started(file), service, log);
    node.listen();
    return node;
  }

  private static Ignite started(NodeConfiguration configuration) throws IgniteCheckedException {
    try {
      return configuration.start();
    } catch (IgniteCheckedException failure) {
      String reason = HaltOnFailure.reason(failure);
      throw reason.equals(failure.getMessage())
          ? failure
          : new IgniteCheckedException(reason, failure);
    }
  }

  public String nodeId() {
    return ignite.cluster().localNode().id().toString();
  }

  /** The Ignite instance name; null: the default instance. */
  public String name() {
    return ignite.name();
  }

  /** The path of the node's log file; null if the Spring XML file has its own logger. */
  public String logFile() {
    return logFile == null ? null : logFile.toString();
  }

  /** False for a cluster with data on disk before its activation, in which no service runs. */
  public boolean active() {
    return ignite.cluster().state().active();
  }

  /** The nodes of the baseline that are not in the cluster, for people; empty: none. */
  public String missing() {
    return Baseline.missing(ignite).stream().map(Baseline::text).collect(Collectors.joining(", "));
  }

  /** host:port at which callers get the reason why the cluster is not active; null: nowhere. */
  public String inactiveAddress() {
    return InactiveApi.of(ignite).address();
  }

  public void activate() {
    ignite.cluster().state(ClusterState.ACTIVE);
  }

  /**
   * Waits until the node's API answers.
   *
   * @param timeoutMillis the timeout; 0: until the node stops
   * @return host:port; null if the service's node filter excludes this node
   * @throws TimeoutException the API does not answer within the timeout
   */
  public String awaitAddress(long timeoutMillis) throws InterruptedException, TimeoutException {
    IgnitePredicate<ClusterNode> filter = service.getNodeFilter();
    if (filter != null && !filter.apply(ignite.cluster().localNode())) {
      return null;
    }
    long deadline = System.nanoTime() + timeoutMillis * 1_000_000;
    while (true) {
      synchronized (change) {
        if (stopped) {
          throw new IllegalStateException(
              "The node stopped before its API answered [nodeId=" + nodeId() + ']');
        }
      }
      TensorFlowService deployed = active() ? deployedService() : null;
      if (deployed != null && deployed.address() != null) {
        return deployed.address();
      }
      if (deployed != null && deployed.failure() != null) {
        throw new IllegalStateException(deployed.failure());
      }
      if (timeoutMillis > 0 && System.nanoTime() > deadline) {
        throw new TimeoutException(
            String.format(
                "The API of node %s did not answer within %d ms; see its log: %s",
                nodeId(), timeoutMillis, logFile()));
      }
      Thread.sleep(ADDRESS_POLL_MILLIS);
    }
  }

  /**
   * The instance on this node. The deprecated call is needed: the proxy that replaces it may call
   * another node.
   */
  @SuppressWarnings("deprecation")
  private TensorFlowService deployedService() {
    return ignite.services().service(service.getName());
  }

  /**
   * Waits for a change of the cluster's topology.
   *
   * @param afterVersion the last version that the caller got; 0 returns at once
   * @return the newest topology; null if the node has stopped
   */
  public Topology awaitTopology(long afterVersion) throws InterruptedException {
    synchronized (change) {
      while (!stopped && topology.version <= afterVersion) {
        change.wait();
      }
      return stopped ? null : topology;
    }
  }

  /**
   * Waits for planned ends of the node's tasks, which may take the stop grace of their jobs. The
   * next call is {@link #stop}.
   */
  public void leave() {
    StopHook.runNow(ignite);
  }

  /** Stops the node and its tasks. Returns when all of them have ended. */
  public void stop() {
    Ignition.stop(ignite.name(), true);
  }

  private void listen() {
    Ignition.addListener(
        new IgnitionListener() {
          @Override
          public void onStateChange(String name, IgniteState state) {
            if (Objects.equals(name, ignite.name()) && state != IgniteState.STARTED) {
              synchronized (change) {
                stopped = true;
                change.notifyAll();
              }
              Ignition.removeListener(this);
            }
          }
        });
    ignite.events().enableLocal(TOPOLOGY_EVENTS);
    ignite
        .events()
        .localListen(
            (DiscoveryEvent event) -> {
              changed(event.topologyVersion(), event.topologyNodes());
              return true;
            },
            TOPOLOGY_EVENTS);
    changed(ignite.cluster().topologyVersion(), ignite.cluster().nodes());
  }

  private void changed(long version, Collection<ClusterNode> nodes) {
    String[] servers =
        nodes.stream()
            .filter(node -> !node.isClient())
            .map(node -> node.id().toString())
            .toArray(String[]::new);
    synchronized (change) {
      if (topology == null || topology.version < version) {
        topology = new Topology(version, servers);
        change.notifyAll();
      }
    }
  }

  /** The server nodes of the cluster, at one version. */
  public static final class Topology {
    private final long version;
    private final String[] nodeIds;

    Topology(long version, String[] nodeIds) {
      this.version = version;
      this.nodeIds = nodeIds;
    }

    public long version() {
      return version;
    }

    public String[] nodeIds() {
      return nodeIds.clone();
    }
  }
}
