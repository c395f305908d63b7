package io.tensorflowignite.data.stream;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.arrow.memory.ArrowBuf;

/** The rows and bytes that this node has sent to readers, by transport. Any thread may call. */
public final class ReadCounts {
  /** A way to readers; its name is that of the argument {@code transport}. */
  public enum Transport {
    SHARED,
    TCP,
    FLIGHT
  }

  private final Map<Transport, LongAdder> rows = new EnumMap<>(Transport.class);
  private final Map<Transport, LongAdder> bytes = new EnumMap<>(Transport.class);

  public ReadCounts() {
    for (Transport transport : Transport.values()) {
      rows.put(transport, new LongAdder());
      bytes.put(transport, new LongAdder());
    }
  }

  void add(Transport transport, Batch batch) {
    rows.get(transport).add(batch.rows);
    bytes.get(transport).add(batch.buffers().stream().mapToLong(ArrowBuf::readableBytes).sum());
  }

  /** Adds the counters to the metrics of a node. */
  public void observe(NodeMetrics metrics) {
    observe(metrics, Metric.READ_ROWS, rows);
    observe(metrics, Metric.READ_BYTES, bytes);
  }

  private static void observe(
      NodeMetrics metrics, Metric metric, Map<Transport, LongAdder> counts) {
    metrics.observe(
        metric,
        to ->
            counts.forEach(
                (transport, count) ->
                    to.add(count.sum(), transport.name().toLowerCase(Locale.ROOT))));
  }
}
