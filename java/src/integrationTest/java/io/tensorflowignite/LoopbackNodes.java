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
  private static final int LOWEST_PORT = 45_000;

  private final int nodes;
  private final int discovery;
  private final int communication;

  /**
   * @param nodes the most that run at once
   */
  public LoopbackNodes(int nodes) throws IOException {
    this.nodes = nodes;
    discovery = FreePorts.from(LOWEST_PORT, 2 * nodes);
    communication = discovery + nodes;
  }

  /** Of one node, in memory, with room for 256 MiB. */
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
        .setDataStorageConfiguration(storage(new DataRegionConfiguration().setMaxSize(256L << 20)))
        .setCommunicationSpi(
            new TcpCommunicationSpi().setLocalPort(communication).setLocalPortRange(nodes - 1))
        .setDiscoverySpi(
            new TcpDiscoverySpi()
                .setLocalPort(discovery)
                .setLocalPortRange(nodes - 1)
                .setIpFinder(
                    new TcpDiscoveryVmIpFinder().setAddresses(Collections.singletonList(range))));
  }

  /** Of a node whose one data region begins small. */
  public static DataStorageConfiguration storage(DataRegionConfiguration region) {
    return new DataStorageConfiguration()
        .setDefaultDataRegionConfiguration(region.setInitialSize(32L << 20));
  }
}
