package io.tensorflowignite.metrics;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.Consumer;

/** The metrics of one node. Any thread may call. */
public final class NodeMetrics {
  private static final double[] SECONDS = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10
  };
  private static final double[] ROWS = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final OpenMetricsTextFormatWriter writer = new OpenMetricsTextFormatWriter(false, false);
  private final Counter requests =
      Counter.builder()
          .name("tensorflow_ignite_predict_requests")
          .help("Requests for predictions that this node has answered, by their results")
          .labelNames("model", "version", "code")
          .register(registry);
  private final Histogram seconds =
      Histogram.builder()
          .name("tensorflow_ignite_predict_seconds")
          .help("Time from the arrival of a request at this node to its answer")
          .labelNames("model", "version")
          .classicOnly()
          .classicUpperBounds(SECONDS)
          .register(registry);
  private final Histogram batches =
      Histogram.builder()
          .name("tensorflow_ignite_predict_batch_rows")
          .help("Rows of the batches that this node has sent to its model processes")
          .labelNames("model", "version")
          .classicOnly()
          .classicUpperBounds(ROWS)
          .register(registry);

  /** Counts the answer to a request. */
  public void answered(String model, long version, String code, double elapsedSeconds) {
    String number = Long.toString(version);
    requests.labelValues(model, number, code).inc();
    seconds.labelValues(model, number).observe(elapsedSeconds);
  }

  /** Counts a batch. */
  public void batch(String model, long version, int rows) {
    batches.labelValues(model, Long.toString(version)).observe(rows);
  }

  /**
   * Reports the model processes of this node.
   *
   * @param states called for each report; gives each process and whether it serves, and the number
   *     of its restarts
   */
  public void observeModels(Consumer<ModelStates> states) {
    GaugeWithCallback.builder()
        .name("tensorflow_ignite_model_serving")
        .help("1: a process of this node serves the version; 0: it is loading, or has failed")
        .labelNames("model", "version")
        .callback(
            found ->
                states.accept(
                    (model, version, serves, restarts, waiting) ->
                        found.call(serves ? 1 : 0, model, Long.toString(version))))
        .register(registry);
    GaugeWithCallback.builder()
        .name("tensorflow_ignite_model_restarts")
        .help("How often the process of the version has been started again")
        .labelNames("model", "version")
        .callback(
            found ->
                states.accept(
                    (model, version, serves, restarts, waiting) ->
                        found.call(restarts, model, Long.toString(version))))
        .register(registry);
    GaugeWithCallback.builder()
        .name("tensorflow_ignite_model_waiting_rows")
        .help("Rows of requests that wait for the process of the version")
        .labelNames("model", "version")
        .callback(
            found ->
                states.accept(
                    (model, version, serves, restarts, waiting) ->
                        found.call(waiting, model, Long.toString(version))))
        .register(registry);
  }

  /** All metrics in the text format of OpenMetrics 1.0. */
  public byte[] text() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      writer.write(out, registry.scrape());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }

  /** Takes the state of one model process. */
  @FunctionalInterface
  public interface ModelStates {
    void process(String model, long version, boolean serves, int restarts, int waitingRows);
  }
}
