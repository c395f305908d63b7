package io.tensorflowignite.ignite;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.DataRegionMetrics;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.DataRegionConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.management.metric.MetricCommandArg;
import org.apache.ignite.internal.management.metric.MetricTask;
import org.apache.ignite.internal.processors.cache.GridCacheUtils;
import org.apache.ignite.internal.processors.cache.persistence.DataRegionMetricsImpl;
import org.apache.ignite.internal.processors.metric.impl.MetricUtils;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.internal.visor.VisorTaskArgument;
import org.apache.ignite.internal.visor.VisorTaskResult;
import org.apache.ignite.lang.IgniteFuture;

/**
 * The data regions of other nodes: their configurations, which every node publishes, and their
 * metrics, by a task of Ignite itself. So nodes without our jar are measured too.
 */
public final class RegionMetrics {
  private static final String USED = "TotalUsedSize";
  private static final long TIMEOUT_MS = 1_000;

  private final Ignite ignite;
  private final GridKernalContext context;
  private final IgniteLogger log;

  public RegionMetrics(Ignite ignite) {
    this.ignite = ignite;
    this.context = ((IgniteEx) ignite).context();
    this.log = ignite.log().getLogger(RegionMetrics.class);
  }

  /**
   * The configuration of a region on a node; null: the node has left, or has no such region.
   *
   * @param region null: the default region
   */
  public DataRegionConfiguration configuration(UUID node, String region) {
    ClusterNode known = ignite.cluster().node(node);
    return known == null ? null : configuration(known, region);
  }

  /** As above, and of a node that has left too. */
  public DataRegionConfiguration configuration(ClusterNode node, String region) {
    DataStorageConfiguration storage =
        GridCacheUtils.extractDataStorage(
            node,
            context.marshallerContext().jdkMarshaller(),
            U.resolveClassLoader(context.config()));
    return GridCacheUtils.findDataRegionConfiguration(storage, region);
  }

  /**
   * The bytes in use of a region, by node. A node that does not answer in time is assumed to use as
   * much as this one: it is frozen or leaving, or permits no tasks.
   *
   * @param regions the region's name on each node
   */
  public Map<UUID, Long> used(Map<UUID, String> regions) {
    Map<UUID, IgniteFuture<?>> calls = new HashMap<>();
    Map<UUID, Long> used = new HashMap<>();
    regions.forEach(
        (node, region) -> {
          used.put(node, local(region));
          if (!node.equals(ignite.cluster().localNode().id())) {
            start(node, region).ifPresent(call -> calls.put(node, call));
          }
        });
    calls.forEach(
        (node, call) -> {
          try {
            // One metric, under its full name.
            Object bytes = values(call.get()).values().iterator().next();
            used.put(node, ((Number) bytes).longValue());
          } catch (Exception e) {
            debug(node, e);
          }
        });
    return used;
  }

  /** The result of Ignite's task, which before 2.17 is not wrapped, and has no class for it. */
  private static Map<?, ?> values(Object result) throws Exception {
    return (Map<?, ?>) (result instanceof Map ? result : ((VisorTaskResult<?>) result).result());
  }

  private Optional<IgniteFuture<?>> start(UUID node, String region) {
    MetricCommandArg metric = new MetricCommandArg();
    metric.name(
        MetricUtils.metricName(DataRegionMetricsImpl.DATAREGION_METRICS_PREFIX, region, USED));
    try {
      return Optional.of(
          ignite
              .compute(ignite.cluster().forNodeId(node))
              .withTimeout(TIMEOUT_MS)
              .executeAsync(MetricTask.class, new VisorTaskArgument<>(node, metric, false)));
    } catch (IgniteException e) {
      debug(node, e);
      return Optional.empty();
    }
  }

  /** The bytes in use of a region on this node. */
  // The interface that replaces this one returns numbers as texts only.
  @SuppressWarnings("deprecation")
  public long local(String region) {
    // Ignite maintains this metric even when metrics are disabled.
    DataRegionMetrics metrics = ignite.dataRegionMetrics(region);
    return metrics == null ? 0 : metrics.getTotalUsedSize();
  }

  private void debug(UUID node, Exception reason) {
    if (log.isDebugEnabled()) {
      log.debug(
          "A node did not report its memory in use [node=" + node + ", reason=" + reason + "]");
    }
  }
}
