package io.tensorflowignite.storage.cache;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.ignite.OpenTransaction;
import io.tensorflowignite.ignite.PartitionExchanges;
import java.util.ArrayList;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** What a change of the store may be waiting for, as far as this node can observe it. */
final class BlockingCauses {
  /** A shorter transaction holds up nothing for a whole timeout. */
  private static final long LONG_MS = 1_000;

  private BlockingCauses() {}

  /** A sentence without its full stop. */
  static String describe(Ignite ignite, String cacheName) {
    String observed = observed(ignite, cacheName);
    return observed.isEmpty()
        ? "This node observes no cause; another node may hold a lock or not answer, and its log"
            + " has the cause"
        : observed;
  }

  /** A sentence without its full stop; empty if this node observes no cause. */
  static String observed(Ignite ignite, String cacheName) {
    List<String> causes = new ArrayList<>();
    PartitionExchanges.unfinished(ignite)
        .ifPresent(
            version ->
                causes.add(
                    "the partition map exchange of topology version "
                        + version
                        + " is not finished: a node does not answer, or a transaction that was open"
                        + " before does not end"));
    OpenTransaction.oldest(ignite, System.currentTimeMillis() - LONG_MS)
        .ifPresent(
            tx ->
                causes.add(
                    String.format(
                        "a transaction of node %s is open for %d s and may hold a lock",
                        MessageText.shortId(tx.nodeId.toString()),
                        (System.currentTimeMillis() - tx.startTime) / 1000)));
    IgniteCache<?, ?> cache = ignite.cache(cacheName);
    if (cache != null && !cache.lostPartitions().isEmpty()) {
      causes.add(
          "the cache '"
              + cacheName
              + "' has lost the partitions "
              + MessageText.some(new ArrayList<>(cache.lostPartitions())));
    }
    return causes.isEmpty() ? "" : "Causes that this node observes: " + String.join("; ", causes);
  }
}
