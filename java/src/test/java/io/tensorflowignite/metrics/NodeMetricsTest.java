package io.tensorflowignite.metrics;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import org.apache.ignite.metric.IgniteMetrics;
import org.apache.ignite.metric.MetricRegistry;
import org.junit.Test;

/** The metrics of a node: their table, their bounded labels, and Ignite's registries. */
public class NodeMetricsTest {
  private final NodeMetrics metrics = new NodeMetrics();

  @Test
  public void theTableOfMetricsIsMadeOfTheCode() throws IOException {
    String document = Files.readString(Paths.get("docs/operations.md"));
    assertTrue(
        "docs/operations.md needs this table:\n" + MetricTable.text(),
        document.contains(MetricTable.BEGIN + MetricTable.text() + MetricTable.END));
  }

  @Test
  public void namesAreEscaped() {
    metrics.observe(Metric.JOB_STEP, to -> to.add(3, "7f3a", "a\"b\\c\nd"));
    assertHas("tensorflow_ignite_job_step{job_id=\"7f3a\",job_name=\"a\\\"b\\\\c\\nd\"} 3.0\n");
    assertTrue(text().endsWith("# EOF\n"));
  }

  @Test
  public void theVersionsThatWereCalledLastHaveSeries() {
    for (int version = 1; version <= NodeMetrics.MAX_VERSIONS + 20; version++) {
      metrics.answered("digits", 1, "OK", 0.01);
      metrics.answered("digits", version, "OK", 0.01);
      metrics.batch("digits", version, 8);
    }
    for (String name : Set.of("predict_seconds_count", "predict_batch_rows_count")) {
      assertTrue(count(name) <= NodeMetrics.MAX_VERSIONS);
    }
    assertEquals(NodeMetrics.MAX_VERSIONS, count("predict_requests_total"));
    assertHas("{code=\"OK\",model=\"digits\",version=\"1\"}");
    assertHas("{code=\"OK\",model=\"digits\",version=\"120\"}");
    assertFalse(text().contains("version=\"2\""));
  }

  @Test
  public void refusedRequestsCountWithoutTheirNames() {
    metrics.refused("NOT_FOUND");
    metrics.refused("NOT_FOUND");
    assertHas(
        "tensorflow_ignite_predict_requests_total{code=\"NOT_FOUND\",model=\"\",version=\"\"} 2.0");
  }

  @Test
  public void ignitesRegistriesHaveTheSameValuesUntilTheyEnd() {
    AtomicInteger jobs = new AtomicInteger(1);
    metrics.observe(Metric.JOBS, to -> to.add(jobs.get(), "running"));
    metrics.observe(
        Metric.JOB_STEP,
        to -> {
          if (jobs.get() > 0) {
            to.add(7, "7f3a-1", "a job");
          }
        });
    metrics.answered("digits", 2, "OK", 0.25);
    metrics.refused("NOT_FOUND");
    Registries registries = new Registries();
    IgniteExport export = new IgniteExport(metrics, registries.proxy());
    export.update();
    assertEquals(1, registries.value("tensorflow-ignite", "jobs_running"), 0);
    assertEquals(1, registries.value("tensorflow-ignite", "predict_requests_NOT_FOUND"), 0);
    assertEquals(7, registries.value("tensorflow-ignite.jobs.7f3a-1", "job_step"), 0);
    assertEquals(
        1, registries.value("tensorflow-ignite.models.digits.2", "predict_requests_OK"), 0);
    assertEquals(
        0.25, registries.value("tensorflow-ignite.models.digits.2", "predict_seconds_sum"), 0);
    jobs.set(0);
    metrics.answered("digits", 2, "OK", 0.25);
    export.copy();
    assertEquals(0, registries.value("tensorflow-ignite", "jobs_running"), 0);
    assertEquals(
        2, registries.value("tensorflow-ignite.models.digits.2", "predict_seconds_count"), 0);
    assertFalse(registries.all.containsKey("tensorflow-ignite.jobs.7f3a-1"));
    export.close();
    assertTrue(registries.all.isEmpty());
  }

  private String text() {
    return new String(metrics.text(), UTF_8);
  }

  private void assertHas(String part) {
    assertTrue(text(), text().contains(part));
  }

  private long count(String name) {
    return text().lines().filter(line -> line.startsWith(Metric.PREFIX + name)).count();
  }

  /** Ignite's registries, without a node. */
  private static final class Registries {
    final Map<String, Map<String, DoubleSupplier>> all = new TreeMap<>();

    double value(String registry, String name) {
      return all.get(registry).get(name).getAsDouble();
    }

    IgniteMetrics proxy() {
      return fake(
          IgniteMetrics.class,
          (method, arguments) -> {
            String name = (String) arguments[0];
            return method.equals("remove")
                ? all.remove(name)
                : registry(all.computeIfAbsent(name, added -> new HashMap<>()));
          });
    }

    private static MetricRegistry registry(Map<String, DoubleSupplier> metrics) {
      return fake(
          MetricRegistry.class,
          (method, arguments) ->
              method.equals("remove")
                  ? metrics.remove((String) arguments[0])
                  : metrics.put((String) arguments[0], (DoubleSupplier) arguments[1]));
    }

    private interface Call {
      Object of(String method, Object[] arguments);
    }

    private static <T> T fake(Class<T> type, Call call) {
      return type.cast(
          Proxy.newProxyInstance(
              type.getClassLoader(),
              new Class<?>[] {type},
              (self, method, arguments) -> {
                Object result = call.of(method.getName(), arguments);
                return method.getReturnType() == void.class ? null : result;
              }));
    }
  }
}
