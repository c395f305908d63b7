package io.tensorflowignite.embedded;

import io.tensorflowignite.TensorFlowService;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
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
import org.apache.ignite.internal.IgnitionEx;
import org.apache.ignite.internal.processors.resource.GridSpringResourceContext;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.lang.IgniteBiTuple;
import org.apache.ignite.lang.IgnitePredicate;
import org.apache.ignite.services.ServiceConfiguration;

/**
 * One Ignite server node with our service in it, started and stopped by the program around it.
 * Nothing of what the service does is decided here.
 */
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
   * Starts the node and joins its cluster. The service's API may answer a moment later: {@link
   * #awaitAddress}.
   */
  public static EmbeddedNode start(EmbeddedSettings settings)
      throws IgniteCheckedException, IOException {
    IgniteConfiguration configuration = new IgniteConfiguration();
    GridSpringResourceContext spring = null;
    if (settings.springXml() != null) {
      IgniteBiTuple<IgniteConfiguration, ? extends GridSpringResourceContext> file =
          IgnitionEx.loadConfiguration(settings.springXml());
      configuration = file.get1();
      spring = file.get2();
    }
    settings.applyTo(configuration);
    Path log = null;
    if (configuration.getGridLogger() == null) {
      String work =
          U.workDirectory(configuration.getWorkDirectory(), configuration.getIgniteHome());
      String name = configuration.getIgniteInstanceName();
      log = NodeLog.file(Path.of(work, "log"), name == null ? "ignite" : "ignite-" + name);
      configuration.setGridLogger(NodeLog.into(log));
    }
    ServiceConfiguration service = EmbeddedSettings.configuredService(configuration);
    EmbeddedNode node = new EmbeddedNode(IgnitionEx.start(configuration, spring), service, log);
    node.listen();
    return node;
  }

  public String nodeId() {
    return ignite.cluster().localNode().id().toString();
  }

  /** The Ignite instance name; null: the default instance. */
  public String name() {
    return ignite.name();
  }

  /** Where the node's log is; null when the Spring XML file brought a logger of its own. */
  public String logFile() {
    return logFile == null ? null : logFile.toString();
  }

  /** False for a cluster with data on disk that nobody has activated yet: no service runs in it. */
  public boolean active() {
    return ignite.cluster().state().active();
  }

  public void activate() {
    ignite.cluster().state(ClusterState.ACTIVE);
  }

  /**
   * Waits until the node's API answers.
   *
   * @param timeoutMillis how long; 0: until the node stops
   * @return host:port; null when the service's node filter leaves this node out
   * @throws TimeoutException the API does not answer in time
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
            "The API of node "
                + nodeId()
                + " did not answer within "
                + timeoutMillis
                + " ms; its log tells why: "
                + logFile());
      }
      Thread.sleep(ADDRESS_POLL_MILLIS);
    }
  }

  /**
   * The instance on this very node: a proxy, which replaces the deprecated call, may lead to
   * another node.
   */
  @SuppressWarnings("deprecation")
  private TensorFlowService deployedService() {
    return ignite.services().service(service.getName());
  }

  /**
   * Waits for a change of the cluster's topology.
   *
   * @param afterVersion the version that the caller knows; 0: none, which returns at once
   * @return the newest topology; null when the node has stopped
   */
  public Topology awaitTopology(long afterVersion) throws InterruptedException {
    synchronized (change) {
      while (!stopped && topology.version <= afterVersion) {
        change.wait();
      }
      return stopped ? null : topology;
    }
  }

  /** Stops the node, the tasks on it included. Returns when nothing of it is left. */
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
