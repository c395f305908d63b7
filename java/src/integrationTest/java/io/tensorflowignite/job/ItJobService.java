package io.tensorflowignite.job;

import static org.junit.Assert.assertEquals;

import io.tensorflowignite.FreePorts;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.table.JobTable;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** One job's singleton on a real node. */
public class ItJobService {
  private static final long TIMEOUT_S = 30;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @Test
  public void aServiceThatIsThereBeforeItsRowServesTheRowWhenItComes() throws Exception {
    try (Ignite node = Ignition.start(configuration())) {
      JobTable jobs = new JobTable(node);
      node.services()
          .deployClusterSingleton(
              JobService.serviceName("early"),
              new JobService("early", new TensorFlowService().settings()));
      CompletableFuture<String> server = new CompletableFuture<>();
      try (AutoCloseable feed =
          jobs.listen(
              (id, job) -> {
                if (job != null && !job.getServiceNodeId().isEmpty()) {
                  server.complete(job.getServiceNodeId());
                }
              })) {
        jobs.insert(Job.newBuilder().setId("early").setState(JobState.PENDING).build());
        String local = node.cluster().localNode().id().toString();
        assertEquals(local, server.get(TIMEOUT_S, TimeUnit.SECONDS));
      }
    }
  }

  private static IgniteConfiguration configuration() throws IOException {
    int port = FreePorts.from(45_000, 1);
    return new IgniteConfiguration()
        .setIgniteInstanceName("job-service")
        .setLocalHost("127.0.0.1")
        .setWorkDirectory(FOLDER.getRoot().getAbsolutePath())
        .setGridLogger(new NullLogger())
        .setClientConnectorConfiguration(null)
        .setConnectorConfiguration(null)
        .setMetricsLogFrequency(0)
        .setDiscoverySpi(
            new TcpDiscoverySpi()
                .setLocalPort(port)
                .setLocalPortRange(0)
                .setIpFinder(
                    new TcpDiscoveryVmIpFinder()
                        .setAddresses(Collections.singletonList("127.0.0.1:" + port))));
  }
}
