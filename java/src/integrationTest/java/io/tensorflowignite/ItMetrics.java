package io.tensorflowignite;

import static org.junit.Assert.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Set;
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

/**
 * The metrics of a node in Ignite's registries; tests/integration/test_metrics.py has OpenMetrics.
 */
@Category(Full.class)
public class ItMetrics {
  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  private static Ignite node;

  @BeforeClass
  public static void startNode() throws Exception {
    node =
        Ignition.start(
            new LoopbackNodes(1)
                .configuration("metrics", FOLDER.getRoot().toPath())
                .setMetricExporterSpi(new JmxMetricExporterSpi())
                .setServiceConfiguration(NodeService.of(new TensorFlowService())));
  }

  @AfterClass
  public static void stopNode() {
    node.close();
    SETTINGS.awaitNoThreads();
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
}
