package io.tensorflowignite;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** The configurations of the nodes of one cluster: quiet, on loopback, with ports of their own. */
public final class LoopbackNodes {
  /** A node may find a port taken that was free. */
  private static final int SPARE_PORTS = 8;

  /** No test needs the detection of failures; a JVM of a busy machine may stand still for long. */
  private static final long PATIENCE_MS = 60_000;

  private final int nodes;
  private final int discovery;
  private final int communication;

  /**
   * @param most the largest number of nodes at one time
   */
  public LoopbackNodes(int most) throws IOException {
    nodes = Math.max(most, SPARE_PORTS);
    discovery = FreePorts.claim(2 * nodes);
    communication = discovery + nodes;
  }

  private LoopbackNodes(int nodes, int discovery) {
    this.nodes = nodes;
    this.discovery = discovery;
    communication = discovery + nodes;
  }

  /** The nodes of the cluster that another process describes by {@link #toString}. */
  public static LoopbackNodes parse(String text) {
    String[] numbers = text.split(",");
    return new LoopbackNodes(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
  }

  @Override
  public String toString() {
    return nodes + "," + discovery;
  }

  /** The configuration of one node, with an in-memory region of 256 MiB. */
  public IgniteConfiguration configuration(String name, Path work) {
    String range = "127.0.0.1:" + discovery + ".." + (discovery + nodes - 1);
    return new IgniteConfiguration()
        .setIgniteInstanceName(name)
        .setLocalHost("127.0.0.1")
        .setWorkDirectory(work.toString())
        .setGridLogger(new NullLogger())
        .setClientConnectorConfiguration(null)
        .setConnectorConfiguration(null)
        .setMetricsLogFrequency(0)
        .setFailureDetectionTimeout(PATIENCE_MS)
        .setDataStorageConfiguration(storage(new DataRegionConfiguration().setMaxSize(256L << 20)))
        .setCommunicationSpi(
            new TcpCommunicationSpi()
                .setLocalPort(communication)
                .setLocalPortRange(nodes - 1)
                .setSocketSendBuffer(256 << 10)
                .setSocketReceiveBuffer(256 << 10))
        .setDiscoverySpi(
            new TcpDiscoverySpi()
                .setLocalPort(discovery)
                .setLocalPortRange(nodes - 1)
                .setIpFinder(
                    new TcpDiscoveryVmIpFinder().setAddresses(Collections.singletonList(range))));
  }

  /** A storage configuration with one data region, which starts with 32 MiB. */
  public static DataStorageConfiguration storage(DataRegionConfiguration region) {
    return new DataStorageConfiguration()
        .setDefaultDataRegionConfiguration(region.setInitialSize(32L << 20));
  }
}
