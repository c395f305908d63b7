package io.tensorflowignite.data.loss;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;

import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.baseline.Baseline;
import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.ignite.LostPartitions;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import io.tensorflowignite.table.LossTable;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.CacheLoss;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;

/**
 * The partitions that caches have lost and no user has accepted: from the table of losses, from
 * this node's latest observation, and from Ignite itself.
 */
public final class CacheLosses {
  /** Caches with metrics. */
  private static final int MAX_CACHES = 100;

  private final Ignite ignite;
  private final IgniteLogger log;
  private final LossTable table;
  private final Optional<LossDetector> detector;

  /** Without the losses that this node has found since the last second. */
  public CacheLosses(Ignite ignite) {
    this(ignite, Optional.empty());
  }

  public CacheLosses(Ignite ignite, LossDetector detector) {
    this(ignite, Optional.of(detector));
  }

  private CacheLosses(Ignite ignite, Optional<LossDetector> detector) {
    this.ignite = ignite;
    this.log = ignite.log().getLogger(CacheLosses.class);
    this.table = new LossTable(ignite);
    this.detector = detector;
  }

  /** Adds the losses to the metrics of a node. */
  public void observe(NodeMetrics metrics) {
    metrics.observe(
        Metric.LOST_PARTITIONS,
        to ->
            list().stream()
                .limit(MAX_CACHES)
                .forEach(loss -> to.add(loss.getPartitionsCount(), loss.getCache())));
  }

  /**
   * The losses that this node knows, sorted by cache; starts no cache on this node. Without the
   * rows of nodes, which come back at once.
   */
  public List<CacheLoss> list() {
    return Stream.concat(
            LostPartitions.caches(ignite).stream(), table.all().stream().map(CacheLoss::getCache))
        .filter(cache -> !cache.equals(SystemCache.NODES.cacheName()))
        .distinct()
        .sorted()
        .flatMap(cache -> Deployment.of(ignite, cache).stream().map(now -> loss(cache, now)))
        .filter(loss -> loss.getPartitionsCount() > 0)
        .collect(Collectors.toList());
  }

  private CacheLoss loss(String cache, Deployment deployment) {
    return table.get(deployment.id()).orElseGet(CacheLoss::getDefaultInstance).toBuilder()
        .setCache(cache)
        .setDeploymentId(deployment.id())
        .setIsOfService(SystemCache.isSystem(ignite, cache))
        .setIsPersistent(deployment.isPersistent())
        .clearPartitions()
        .addAllPartitions(all(deployment, deployment.rememberedHere()))
        .build();
  }

  /** The partitions whose rows do not come back; empty if there is no such cache. */
  public SortedSet<Integer> permanent(String cache) {
    Optional<Deployment> deployment = Deployment.of(ignite, cache);
    if (deployment.isEmpty()) {
      return Collections.emptySortedSet();
    }
    return deployment.get().isPersistent()
        ? Collections.emptySortedSet()
        : all(cache, deployment.get());
  }

  /** Throws if one of these partitions has no copy. */
  public void requireWhole(String cache, Collection<Integer> partitions) {
    Deployment deployment = Deployment.of(ignite, cache).orElse(null);
    if (deployment == null) {
      return;
    }
    SortedSet<Integer> lost = all(cache, deployment);
    lost.retainAll(partitions);
    if (!lost.isEmpty()) {
      throw error(cache, deployment, lost);
    }
  }

  /** Throws if partitions of a cache are lost whose rows do not come back. */
  public void requireWhole(String cache) {
    SortedSet<Integer> lost = permanent(cache);
    if (!lost.isEmpty()) {
      throw error(cache, Deployment.of(ignite, cache).orElseThrow(), lost);
    }
  }

  /**
   * The caches whose losses end when that of one of them is accepted: Ignite remembers lost
   * partitions by the group of caches.
   */
  public List<String> acceptedWith(String cache) {
    return CacheDescriptor.of(ignite, cache)
        .filter(found -> !remembered(cache).isEmpty())
        .map(CacheDescriptor::groupCaches)
        .orElse(List.of(cache));
  }

  /**
   * From now on the remaining rows are the whole cache, and the caches of {@link #acceptedWith}.
   *
   * @param caller who accepts the loss; for the log
   * @return the partitions that were lost
   */
  public SortedSet<Integer> accept(String cache, String caller) {
    Deployment deployment =
        Deployment.of(ignite, cache)
            .orElseThrow(
                () ->
                    TensorFlowIgniteException.of(
                        ERROR_CODE_CACHE_NOT_FOUND,
                        "there is no cache %s; only of an existing cache a loss can be accepted;"
                            + " name one of the cluster's caches",
                        cache));
    Collection<Integer> remembered = deployment.remembered();
    SortedSet<Integer> lost = all(deployment, remembered);
    List<String> accepted = acceptedWith(cache);
    if (!remembered.isEmpty()) {
      reset(cache);
    }
    detector.ifPresent(LossDetector::store);
    table.remove(deployment.id());
    if (!lost.isEmpty()) {
      log.warning(
          String.format(
              "The loss of partitions was accepted [caches=%s, count=%d, caller=%s]",
              accepted, lost.size(), caller));
    }
    return lost;
  }

  private void reset(String cache) {
    try {
      ignite.resetLostPartitions(Collections.singleton(cache));
    } catch (IgniteException refused) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_DATA_LOST,
          String.format(
              "the loss of partitions of cache %s was not accepted: %s; Ignite itself remembers it,"
                  + " and must reset these partitions; start nodes that can hold them, or remove"
                  + " those that are permanently off (tensorflow-ignite baseline --help), and"
                  + " repeat this",
              cache, refused.getMessage()),
          refused);
    }
  }

  private SortedSet<Integer> all(String cache, Deployment deployment) {
    return all(deployment, remembered(cache));
  }

  private SortedSet<Integer> all(Deployment deployment, Collection<Integer> remembered) {
    // Of a persistent cache, the table only remembers which nodes have the rows.
    SortedSet<Integer> lost = deployment.isPersistent() ? new TreeSet<>() : found(deployment);
    lost.addAll(remembered);
    return lost;
  }

  private SortedSet<Integer> found(Deployment deployment) {
    SortedSet<Integer> lost = new TreeSet<>();
    table.get(deployment.id()).ifPresent(loss -> lost.addAll(loss.getPartitionsList()));
    detector.ifPresent(finder -> lost.addAll(finder.unstored(deployment.id())));
    return lost;
  }

  /**
   * The partitions that Ignite remembers as lost, of persistent caches and by policies; it refuses
   * to read them.
   */
  public Collection<Integer> remembered(String name) {
    return Deployment.of(ignite, name).map(Deployment::remembered).orElse(Collections.emptySet());
  }

  /** What brings the lost partitions of a persistent cache back, for people. */
  public String remedy(String cache) {
    List<String> owners =
        Deployment.of(ignite, cache)
            .flatMap(now -> table.get(now.id()))
            .map(loss -> (List<String>) loss.getOwnersList())
            .orElse(List.of());
    String missing =
        Baseline.missing(ignite).stream()
            .filter(node -> owners.isEmpty() || owners.contains(node.getConsistentId()))
            .map(Baseline::text)
            .collect(Collectors.joining(", "));
    return missing.isEmpty()
        ? "Its nodes are here, but have not shown yet that the last copies are on their disks;"
            + " start the others that had them"
        : "Start these nodes, whose disks have the rows, and they are read again: " + missing;
  }

  private TensorFlowIgniteException error(
      String cache, Deployment deployment, SortedSet<Integer> lost) {
    String since =
        table
            .get(deployment.id())
            .map(CacheLoss::getLostAt)
            .map(at -> " since " + Timestamps.toString(at))
            .orElse("");
    return TensorFlowIgniteException.of(
        ERROR_CODE_DATA_LOST,
        "cache %s has lost partitions: of %d no copy is left%s, because nodes have left (%s). The"
            + " remaining rows are not read as if they were all. %s, or accept the loss:"
            + " accept_data_loss=True for one reader, restart.allow_data_loss=true for one job, or"
            + " for everybody: tensorflow-ignite accept-data-loss %1$s",
        cache,
        lost.size(),
        since,
        MessageText.some(new ArrayList<>(lost)),
        deployment.isPersistent()
            ? remedy(cache)
            : "Load the cache again (if_exists=\"replace\", --if-exists), with more backups");
  }
}
