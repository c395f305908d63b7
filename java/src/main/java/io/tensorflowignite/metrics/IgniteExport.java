package io.tensorflowignite.metrics;

import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.DataPointSnapshot;
import io.prometheus.metrics.model.snapshots.DistributionDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.metric.IgniteMetrics;

/**
 * Copies the metrics of a node into Ignite's own registries, which Ignite's exporters read: {@code
 * custom.tensorflow-ignite}, and one for each job ({@code .jobs.ID}) and each version of a model
 * ({@code .models.NAME.NUMBER}). One thread calls {@link #update}.
 */
public final class IgniteExport implements AutoCloseable {
  private static final String ROOT = "tensorflow-ignite";
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final NodeMetrics metrics;
  private final IgniteMetrics target;

  /** By registry and name of the metric; exporters read them from their own threads. */
  private final Map<String, Map<String, Double>> values = new ConcurrentHashMap<>();

  private long updatedAt = System.nanoTime() - INTERVAL_NANOS;

  public IgniteExport(NodeMetrics metrics, IgniteMetrics target) {
    this.metrics = metrics;
    this.target = target;
  }

  /** Copies all values if the last copy is older than 5 s. */
  public void update() {
    long now = System.nanoTime();
    if (now - updatedAt >= INTERVAL_NANOS) {
      updatedAt = now;
      copy();
    }
  }

  void copy() {
    Map<String, Map<String, Double>> found = new HashMap<>();
    Map<String, String> helps = new HashMap<>();
    for (MetricSnapshot metric : metrics.snapshots()) {
      String name = metric.getMetadata().getName().substring(Metric.PREFIX.length());
      for (DataPointSnapshot point : metric.getDataPoints()) {
        Map<String, Double> registry =
            found.computeIfAbsent(registry(point.getLabels()), added -> new HashMap<>());
        String full = name + suffix(point.getLabels());
        helps.put(full, metric.getMetadata().getHelp());
        if (point instanceof DistributionDataPointSnapshot) {
          DistributionDataPointSnapshot histogram = (DistributionDataPointSnapshot) point;
          registry.put(full + "_count", (double) histogram.getCount());
          registry.put(full + "_sum", histogram.getSum());
        } else if (point instanceof CounterDataPointSnapshot) {
          registry.put(full, ((CounterDataPointSnapshot) point).getValue());
        } else {
          registry.put(full, ((GaugeDataPointSnapshot) point).getValue());
        }
      }
    }
    found.forEach((registry, points) -> publish(registry, points, helps));
    Set<String> ended = new HashSet<>(values.keySet());
    ended.removeAll(found.keySet());
    ended.forEach(this::remove);
  }

  private void publish(String registry, Map<String, Double> points, Map<String, String> helps) {
    Map<String, Double> known =
        values.computeIfAbsent(registry, added -> new ConcurrentHashMap<>());
    points.forEach(
        (name, value) -> {
          if (known.put(name, value) == null) {
            target
                .getOrCreate(registry)
                .register(
                    name, () -> known.getOrDefault(name, Double.NaN), helps.getOrDefault(name, ""));
          }
        });
    for (String name : known.keySet()) {
      if (!points.containsKey(name)) {
        known.remove(name);
        target.getOrCreate(registry).remove(name);
      }
    }
  }

  private void remove(String registry) {
    values.remove(registry);
    target.remove(registry);
  }

  private static String registry(Labels labels) {
    if (labels.contains("job_id")) {
      return ROOT + ".jobs." + safe(labels.get("job_id"));
    }
    if (labels.contains("model") && !labels.get("model").isEmpty()) {
      return ROOT + ".models." + safe(labels.get("model")) + "." + safe(labels.get("version"));
    }
    return ROOT;
  }

  /** The values of the labels that choose no registry. */
  private static String suffix(Labels labels) {
    StringBuilder suffix = new StringBuilder();
    labels.stream()
        .filter(
            label -> !Set.of("job_id", "job_name", "model", "version").contains(label.getName()))
        .forEach(label -> suffix.append('_').append(safe(label.getValue())));
    return suffix.toString();
  }

  /** Ignite separates the parts of names by dots, and refuses spaces. */
  private static String safe(String text) {
    return text.replaceAll("[^A-Za-z0-9_-]", "_");
  }

  @Override
  public void close() {
    Set.copyOf(values.keySet()).forEach(this::remove);
  }
}
