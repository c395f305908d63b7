package io.tensorflowignite.metrics;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.core.metrics.MetricWithFixedMetadata;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The metrics of one node. Any thread may call. */
public final class NodeMetrics {
  private static final double[] SECONDS = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10
  };
  private static final double[] ROWS = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

  /** The versions of models with series; the least recently used one makes room. */
  public static final int MAX_VERSIONS = 100;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final OpenMetricsTextFormatWriter writer = new OpenMetricsTextFormatWriter(false, false);
  private final Counter requests =
      described(Counter.builder(), Metric.PREDICT_REQUESTS).register(registry);
  private final Histogram seconds = histogram(Metric.PREDICT_SECONDS, SECONDS);
  private final Histogram batches = histogram(Metric.PREDICT_BATCH_ROWS, ROWS);

  /** Of each version with series: the codes of its answers. */
  private final Map<List<String>, Set<String>> versions =
      new LinkedHashMap<>(MAX_VERSIONS, 0.75f, true);

  private Histogram histogram(Metric metric, double[] bounds) {
    return described(Histogram.builder(), metric)
        .classicOnly()
        .classicUpperBounds(bounds)
        .register(registry);
  }

  private static <B extends MetricWithFixedMetadata.Builder<B, ?>> B described(
      B builder, Metric metric) {
    return builder
        .name(Metric.PREFIX + metric.shortName)
        .help(metric.help)
        .labelNames(metric.labels.toArray(new String[0]));
  }

  /** Counts the answer to a request. */
  public synchronized void answered(
      String model, long version, String code, double elapsedSeconds) {
    String number = Long.toString(version);
    codes(model, number).add(code);
    requests.labelValues(model, number, code).inc();
    seconds.labelValues(model, number).observe(elapsedSeconds);
  }

  /** Counts a request that names no model that is deployed: the name may be anything. */
  public synchronized void refused(String code) {
    codes("", "").add(code);
    requests.labelValues("", "", code).inc();
  }

  /** Counts a batch. */
  public synchronized void batch(String model, long version, int rows) {
    String number = Long.toString(version);
    codes(model, number);
    batches.labelValues(model, number).observe(rows);
  }

  private Set<String> codes(String model, String version) {
    Set<String> codes = versions.computeIfAbsent(List.of(model, version), added -> new HashSet<>());
    if (versions.size() > MAX_VERSIONS) {
      Map.Entry<List<String>, Set<String>> oldest = versions.entrySet().iterator().next();
      String name = oldest.getKey().get(0);
      String number = oldest.getKey().get(1);
      oldest.getValue().forEach(code -> requests.remove(name, number, code));
      seconds.remove(name, number);
      batches.remove(name, number);
      versions.remove(oldest.getKey());
    }
    return codes;
  }

  /**
   * Adds a gauge or a counter.
   *
   * @param values called for each report; gives the values with their labels
   */
  public void observe(Metric metric, Consumer<Values> values) {
    if (metric.type == Metric.Type.COUNTER) {
      described(CounterWithCallback.builder(), metric)
          .callback(found -> values.accept(found::call))
          .register(registry);
    } else {
      described(GaugeWithCallback.builder(), metric)
          .callback(found -> values.accept(found::call))
          .register(registry);
    }
  }

  /** Takes the values of a metric; labels in the order of {@link Metric#labels}. */
  @FunctionalInterface
  public interface Values {
    void add(double value, String... labels);
  }

  MetricSnapshots snapshots() {
    return registry.scrape();
  }

  /** All metrics in the text format of OpenMetrics 1.0. */
  public byte[] text() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      writer.write(out, snapshots());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }
}
