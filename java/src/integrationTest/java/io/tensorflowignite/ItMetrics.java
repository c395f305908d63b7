package io.tensorflowignite;

import static org.junit.Assert.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.tensorflowignite.v1.GetMetricsRequest;
import io.tensorflowignite.v1.MetricsServiceGrpc;
import java.lang.management.ManagementFactory;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.management.ObjectName;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.apache.ignite.spi.metric.DoubleMetric;
import org.apache.ignite.spi.metric.ReadOnlyMetricRegistry;
import org.apache.ignite.spi.metric.jmx.JmxMetricExporterSpi;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** The metrics of a node, as OpenMetrics and in Ignite's registries. */
@Category(Full.class)
public class ItMetrics {
  private static final long TIMEOUT_S = 30;

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  private static Ignite node;
  private static ManagedChannel channel;

  @BeforeClass
  public static void startNode() throws Exception {
    node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("metrics", FOLDER.getRoot().toPath())
                .setMetricExporterSpi(new JmxMetricExporterSpi())
                .setServiceConfiguration(NodeService.of(new TensorFlowService())));
    String[] address = NodeService.address(node).split(":");
    channel =
        NettyChannelBuilder.forAddress(address[0], Integer.parseInt(address[1]))
            .usePlaintext()
            .build();
  }

  @AfterClass
  public static void stopNode() throws InterruptedException {
    assertTrue(channel.shutdownNow().awaitTermination(TIMEOUT_S, TimeUnit.SECONDS));
    node.close();
    SETTINGS.awaitNoThreads();
  }

  @Test
  public void aNodeWithoutJobsReportsTheClusterAndItself() {
    String text = text();
    for (String line :
        new String[] {
          "tensorflow_ignite_jobs{state=\"running\"} 0.0",
          "tensorflow_ignite_jobs_queued 0.0",
          "tensorflow_ignite_job_restarts_total{cause=\"crash\"} 0.0",
          "tensorflow_ignite_read_rows_total{transport=\"shared\"} 0.0",
          "tensorflow_ignite_read_bytes_total{transport=\"flight\"} 0.0"
        }) {
      assertTrue(line + " in " + text, text.contains(line));
    }
    double used = value(text, "tensorflow_ignite_files_memory_used_bytes ");
    double limit = value(text, "tensorflow_ignite_files_memory_limit_bytes ");
    assertTrue(used + " of " + limit, used > 0 && used < limit);
  }

  @Test
  public void ignitesRegistriesAndJmxHaveTheSameMetrics() throws Exception {
    DoubleMetric used =
        Await.nonNull("the metrics are copied", () -> metric("files_memory_used_bytes"));
    assertTrue(used.description(), used.value() > 0);
    Set<ObjectName> beans =
        ManagementFactory.getPlatformMBeanServer()
            .queryNames(new ObjectName("org.apache:group=custom,*"), null);
    assertTrue(
        beans.toString(),
        beans.stream().anyMatch(bean -> bean.getKeyProperty("name").contains("tensorflow-ignite")));
  }

  private static DoubleMetric metric(String name) {
    for (ReadOnlyMetricRegistry registry : node.metrics()) {
      if (registry.name().equals("custom.tensorflow-ignite")) {
        return registry.findMetric(name);
      }
    }
    return null;
  }

  private static double value(String text, String begin) {
    return text.lines()
        .filter(line -> line.startsWith(begin))
        .mapToDouble(line -> Double.parseDouble(line.substring(begin.length())))
        .findFirst()
        .orElse(-1);
  }

  private static String text() {
    return MetricsServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_S, TimeUnit.SECONDS)
        .getMetrics(GetMetricsRequest.getDefaultInstance())
        .getOpenMetrics()
        .toStringUtf8();
  }
}
