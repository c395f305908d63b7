package io.tensorflowignite.embedded;

import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.region.OwnRegion;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ignite.configuration.ClientConnectorConfiguration;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.spi.communication.CommunicationSpi;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * The configuration of an embedded node: a Spring XML file, these settings, or both. A setting
 * overrides the file; a missing setting leaves the file's value.
 */
public final class EmbeddedSettings {
  private static final String LOOPBACK = "127.0.0.1";
  private static final String DEFAULT_DISCOVERY_PORTS = "47500..47509";

  /** Nodes that start together make each other wait; Ignite's default delay is two seconds. */
  private static final int JOIN_AGAIN_MS = 200;

  /** Linux doubles it; so 1,000 connections use 256 MB. */
  private static final int THIN_BUFFER_BYTES = 64 * 1024;

  /** Four segments of loopback, whose size is 64 KiB. */
  private static final int NODE_BUFFER_BYTES = 256 * 1024;

  private static final long OWN_REGION_INITIAL_BYTES = 32 << 20;

  private static final Pattern PORTS = Pattern.compile(":(\\d+)(?:\\.\\.(\\d+))?$");

  private String springXml;
  private String name;
  private String workDirectory;
  private String host;
  private List<String> discovery = new ArrayList<>();
  private Boolean persistent;
  private long dataRegionBytes;
  private final Map<String, String> attributes = new HashMap<>();

  /** A file with one bean of class IgniteConfiguration. */
  public EmbeddedSettings springXml(String path) {
    this.springXml = path;
    return this;
  }

  /** The Ignite instance name. */
  public EmbeddedSettings name(String name) {
    this.name = name;
    return this;
  }

  public EmbeddedSettings workDirectory(String path) {
    this.workDirectory = path;
    return this;
  }

  /** The address that Ignite itself binds to; 0.0.0.0: all. Default without a file: loopback. */
  public EmbeddedSettings host(String host) {
    this.host = host;
    return this;
  }

  /**
   * The discovery addresses of the cluster: {@code host:port} or {@code host:port..port}, the same
   * list on every node. This node listens on a port of the first entry's range.
   */
  public EmbeddedSettings discovery(String... addresses) {
    this.discovery = Arrays.asList(addresses);
    return this;
  }

  /** Whether the default data region and our own are stored on disk, in the work directory. */
  public EmbeddedSettings persistent(boolean persistent) {
    this.persistent = persistent;
    return this;
  }

  /** The maximum size of the default data region, and of our own, in bytes. */
  public EmbeddedSettings dataRegionBytes(long bytes) {
    this.dataRegionBytes = bytes;
    return this;
  }

  /** A node attribute, which an AttributeNodeFilter can select. */
  public EmbeddedSettings attribute(String name, String value) {
    attributes.put(name, value);
    return this;
  }

  String springXml() {
    return springXml;
  }

  void applyTo(IgniteConfiguration configuration) {
    if (name != null) {
      configuration.setIgniteInstanceName(name);
    }
    if (workDirectory != null) {
      configuration.setWorkDirectory(workDirectory);
    }
    if (host != null || springXml == null) {
      configuration.setLocalHost(localHost());
    }
    if (!discovery.isEmpty() || springXml == null) {
      configuration.setDiscoverySpi(discoverySpi());
    }
    if (springXml == null || persistent != null || dataRegionBytes > 0) {
      applyStorage(configuration);
    }
    if (!attributes.isEmpty()) {
      Map<String, Object> all = new HashMap<>(attributes);
      if (configuration.getUserAttributes() != null) {
        configuration.getUserAttributes().forEach(all::putIfAbsent);
      }
      configuration.setUserAttributes(all);
    }
    limitThinBuffers(configuration);
    enlargeNodeBuffers(configuration);
    if (configuration.getFailureHandler() == null) {
      configuration.setFailureHandler(new HaltOnFailure());
    }
    if (TensorFlowService.configured(configuration) == null) {
      addService(configuration);
    }
  }

  /**
   * Ignite gives each connection of a thin client direct memory of the size of the socket's
   * buffers: several MB on loopback, so that a few hundred connections end the node.
   */
  private static void limitThinBuffers(IgniteConfiguration configuration) {
    ClientConnectorConfiguration configured = configuration.getClientConnectorConfiguration();
    if (configured == null) {
      return;
    }
    ClientConnectorConfiguration limited = new ClientConnectorConfiguration(configured);
    if (limited.getSocketSendBufferSize() == 0) {
      limited.setSocketSendBufferSize(THIN_BUFFER_BYTES);
    }
    if (limited.getSocketReceiveBufferSize() == 0) {
      limited.setSocketReceiveBufferSize(THIN_BUFFER_BYTES);
    }
    configuration.setClientConnectorConfiguration(limited);
  }

  /**
   * By default Ignite's connections between nodes have receive buffers of 32 KiB. A segment of
   * loopback has up to 64 KiB: the kernel drops it, and sends it again after 0.2 s, then 0.4 s, and
   * so on, so that a connection that carries large values stands still for many seconds.
   */
  private static void enlargeNodeBuffers(IgniteConfiguration configuration) {
    if (configuration.getCommunicationSpi() == null) {
      configuration.setCommunicationSpi(new TcpCommunicationSpi());
    }
    CommunicationSpi<?> configured = configuration.getCommunicationSpi();
    if (configured instanceof TcpCommunicationSpi) {
      TcpCommunicationSpi tcp = (TcpCommunicationSpi) configured;
      if (tcp.getSocketSendBuffer() == TcpCommunicationSpi.DFLT_SOCK_BUF_SIZE) {
        tcp.setSocketSendBuffer(NODE_BUFFER_BYTES);
      }
      if (tcp.getSocketReceiveBuffer() == TcpCommunicationSpi.DFLT_SOCK_BUF_SIZE) {
        tcp.setSocketReceiveBuffer(NODE_BUFFER_BYTES);
      }
    }
  }

  private static void addService(IgniteConfiguration configuration) {
    ServiceConfiguration ours =
        new ServiceConfiguration()
            .setName(TensorFlowService.NAME)
            .setService(new TensorFlowService())
            .setMaxPerNodeCount(1)
            .setTotalCount(0);
    List<ServiceConfiguration> all = new ArrayList<>();
    if (configuration.getServiceConfiguration() != null) {
      all.addAll(Arrays.asList(configuration.getServiceConfiguration()));
    }
    all.add(ours);
    configuration.setServiceConfiguration(all.toArray(new ServiceConfiguration[0]));
  }

  private String localHost() {
    return host == null ? LOOPBACK : host;
  }

  private TcpDiscoverySpi discoverySpi() {
    List<String> addresses = discovery;
    if (addresses.isEmpty()) {
      String where = "0.0.0.0".equals(localHost()) ? LOOPBACK : localHost();
      addresses = List.of(where + ":" + DEFAULT_DISCOVERY_PORTS);
    }
    Matcher ports = PORTS.matcher(addresses.get(0));
    if (!ports.find()) {
      throw new IllegalArgumentException(
          "The first discovery address '"
              + addresses.get(0)
              + "' has no port. The node listens on a port of this address. Set it to host:port or"
              + " host:port..port.");
    }
    int first = Integer.parseInt(ports.group(1));
    int last = ports.group(2) == null ? first : Integer.parseInt(ports.group(2));
    return new TcpDiscoverySpi()
        .setLocalPort(first)
        .setLocalPortRange(last - first)
        .setReconnectDelay(JOIN_AGAIN_MS)
        .setIpFinder(new TcpDiscoveryVmIpFinder().setAddresses(addresses));
  }

  private void applyStorage(IgniteConfiguration configuration) {
    DataStorageConfiguration storage = configuration.getDataStorageConfiguration();
    if (storage == null) {
      storage = new DataStorageConfiguration();
      configuration.setDataStorageConfiguration(storage);
    }
    apply(storage.getDefaultDataRegionConfiguration());
    if (springXml == null) {
      storage.setDataRegionConfigurations(
          new DataRegionConfiguration()
              .setName(OwnRegion.NAME)
              .setInitialSize(OWN_REGION_INITIAL_BYTES));
    }
    if (storage.getDataRegionConfigurations() != null) {
      Arrays.stream(storage.getDataRegionConfigurations())
          .filter(region -> OwnRegion.NAME.equals(region.getName()))
          .forEach(this::apply);
    }
  }

  private void apply(DataRegionConfiguration region) {
    if (persistent != null) {
      region.setPersistenceEnabled(persistent);
    }
    if (dataRegionBytes > 0) {
      region.setInitialSize(Math.min(region.getInitialSize(), dataRegionBytes));
      region.setMaxSize(dataRegionBytes);
    }
  }
}
