package io.tensorflowignite.ignite;

import java.time.Duration;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;

/**
 * For how long no map of partitions has changed, of any cache. Ignite gives its maps a version: it
 * changes with the topology, and also when primaries move since their copies are complete. So a job
 * can be placed at once in a cluster where nothing has moved for a while.
 */
public final class PartitionMapAge {
  private static final String KEY = "tensorflow-ignite-partition-map-age";

  private final GridKernalContext context;
  private AffinityTopologyVersion version;
  private long unchangedSince;

  private PartitionMapAge(Ignite ignite) {
    this.context = ((IgniteEx) ignite).context();
  }

  /** The one of a node, whose first call begins to measure. */
  public static PartitionMapAge of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, PartitionMapAge>nodeLocalMap()
        .computeIfAbsent(KEY, key -> new PartitionMapAge(ignite));
  }

  /** The time since the last change that was observed; call this from time to time. */
  public synchronized Duration observe() {
    AffinityTopologyVersion current = context.discovery().topologyVersionEx();
    boolean settled = current.equals(context.cache().context().exchange().readyAffinityVersion());
    if (!settled || !current.equals(version)) {
      version = settled ? current : null;
      unchangedSince = System.nanoTime();
    }
    return Duration.ofNanos(System.nanoTime() - unchangedSince);
  }
}
