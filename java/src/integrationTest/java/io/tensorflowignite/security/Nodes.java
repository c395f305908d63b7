package io.tensorflowignite.security;

import io.tensorflowignite.FreePorts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.UUID;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/** The configuration of nodes that are clusters of their own. */
final class Nodes {
  private static final int PORTS = 5;

  private Nodes() {}

  static IgniteConfiguration configuration(Path work, boolean persistent) throws IOException {
    int discovery = FreePorts.from(48_000, PORTS);
    int communication = FreePorts.from(discovery + PORTS, PORTS);
    String range = "127.0.0.1:" + discovery + ".." + (discovery + PORTS - 1);
    DataRegionConfiguration region =
        new DataRegionConfiguration()
            .setInitialSize(32L << 20)
            .setMaxSize(256L << 20)
            .setPersistenceEnabled(persistent);
    return new IgniteConfiguration()
        .setIgniteInstanceName("security-" + UUID.randomUUID())
        .setLocalHost("127.0.0.1")
        .setWorkDirectory(work.toString())
        .setGridLogger(new NullLogger())
        .setClientConnectorConfiguration(null)
        .setConnectorConfiguration(null)
        .setMetricsLogFrequency(0)
        .setDataStorageConfiguration(
            new DataStorageConfiguration().setDefaultDataRegionConfiguration(region))
        .setCommunicationSpi(
            new TcpCommunicationSpi().setLocalPort(communication).setLocalPortRange(PORTS - 1))
        .setDiscoverySpi(
            new TcpDiscoverySpi()
                .setLocalPort(discovery)
                .setLocalPortRange(PORTS - 1)
                .setIpFinder(
                    new TcpDiscoveryVmIpFinder().setAddresses(Collections.singletonList(range))));
  }
}
