package io.tensorflowignite.region;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_STORAGE_FULL;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.CacheDescriptor;
import io.tensorflowignite.ignite.ClusterNodes;
import io.tensorflowignite.ignite.RegionMetrics;
import io.tensorflowignite.metrics.Metric;
import io.tensorflowignite.metrics.NodeMetrics;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.DataRegionConfiguration;

/**
 * Keeps a part of every node's data regions free. Ignite ends a node whose data region is full, and
 * then the next node, which receives its data; so a write is rejected earlier, when one of the
 * nodes that would store it has only its reserve left. The reserve is for copies from other nodes,
 * whose partitions differ in size, for writes on their way, and for rows that decide about jobs.
 */
public final class MemoryReserve {
  private static final String KEY = "tensorflow-ignite-memory";

  /** The key, the row's header, and its entries in the indexes of pages. */
  private static final int ENTRY_BYTES = 256;

  private final Ignite ignite;
  private final RegionMetrics metrics;

  /** By the region's name in configurations of caches; empty: the default region. */
  private final Map<String, RegionAccounts> regions = new ConcurrentHashMap<>();

  /** By node and region. */
  private final Map<String, RegionLimit> limits = new ConcurrentHashMap<>();

  private MemoryReserve(Ignite ignite) {
    this.ignite = ignite;
    this.metrics = new RegionMetrics(ignite);
  }

  /** The one of a node: all that writes on the node shares its measurements. */
  public static MemoryReserve of(Ignite ignite) {
    return ignite
        .cluster()
        .<String, MemoryReserve>nodeLocalMap()
        .computeIfAbsent(KEY, key -> new MemoryReserve(ignite));
  }

  /**
   * Puts a value where all its copies have room.
   *
   * @param what the value in errors: "a block"
   * @throws TensorFlowIgniteException STORAGE_FULL: a node has too little memory.
   */
  public void put(
      Purpose purpose,
      IgniteCache<? super String, ? super byte[]> cache,
      String key,
      byte[] value,
      String what) {
    try (Reservation room = reserve(purpose, cache, key, value.length, what)) {
      cache.put(key, value);
    }
  }

  /** Reserves the memory of one entry on all nodes that store it. */
  public Reservation reserve(
      Purpose purpose, IgniteCache<?, ?> cache, String key, long bytes, String what) {
    Collection<ClusterNode> owners =
        ignite.<String>affinity(cache.getName()).mapKeyToPrimaryAndBackups(key);
    return reserve(
        purpose, region(cache.getName()), owners, node -> bytes + ENTRY_BYTES, bytes, what);
  }

  /**
   * Reserves memory on each node that stores a part of the write.
   *
   * @param region the region's name; empty: the default region
   * @param perNode the bytes that a node would store
   * @param bytes the size of the write in errors
   */
  Reservation reserve(
      Purpose purpose,
      String region,
      Collection<ClusterNode> nodes,
      ToLongFunction<ClusterNode> perNode,
      long bytes,
      String what) {
    return reserve(purpose, region, nodes, perNode, bytes, what, "Remove");
  }

  /**
   * As above.
   *
   * @param remedy how the sentence of errors about what can be removed begins
   */
  Reservation reserve(
      Purpose purpose,
      String region,
      Collection<ClusterNode> nodes,
      ToLongFunction<ClusterNode> perNode,
      long bytes,
      String what,
      String remedy) {
    Map<UUID, RegionLimit> bounds = bounds(region, nodes);
    Map<UUID, Long> writes = writes(bounds, nodes, perNode);
    if (writes.isEmpty()) {
      return Reservation.NONE;
    }
    RegionAccounts accounts = accounts(region);
    RegionAccounts.Full full = accounts.reserve(purpose, writes, bounds, writers());
    if (full != null) {
      throw full(purpose, full, bytes, what, remedy);
    }
    return () -> accounts.release(writes);
  }

  /** Whether a write should wait until others of this node are stored. */
  boolean isCrowded(
      String region, Collection<ClusterNode> nodes, ToLongFunction<ClusterNode> perNode) {
    Map<UUID, RegionLimit> bounds = bounds(region, nodes);
    return accounts(region).exceedsShare(writes(bounds, nodes, perNode), bounds, writers());
  }

  private Map<UUID, RegionLimit> bounds(String region, Collection<ClusterNode> nodes) {
    Map<UUID, RegionLimit> bounds = new HashMap<>();
    for (ClusterNode node : nodes) {
      RegionLimit limit = limit(node.id(), region);
      if (limit.isBounded()) {
        bounds.put(node.id(), limit);
      }
    }
    return bounds;
  }

  private static Map<UUID, Long> writes(
      Map<UUID, RegionLimit> bounds,
      Collection<ClusterNode> nodes,
      ToLongFunction<ClusterNode> perNode) {
    return nodes.stream()
        .filter(node -> bounds.containsKey(node.id()))
        .collect(Collectors.toMap(ClusterNode::id, perNode::applyAsLong));
  }

  private int writers() {
    return Math.max(1, ClusterNodes.servers(ignite));
  }

  /** Adds the memory in use of the data region of files on this node, and its limit. */
  public void observe(String blocks, NodeMetrics to) {
    UUID node = ignite.cluster().localNode().id();
    to.observe(
        Metric.FILES_MEMORY_USED_BYTES,
        values -> {
          String region = region(blocks);
          DataRegionConfiguration known =
              metrics.configuration(node, region.isEmpty() ? null : region);
          if (known != null) {
            values.add(metrics.local(known.getName()));
          }
        });
    to.observe(
        Metric.FILES_MEMORY_LIMIT_BYTES,
        values -> {
          RegionLimit limit = limit(node, region(blocks));
          if (limit.isBounded()) {
            values.add(limit.bytes(Purpose.DATA));
          }
        });
  }

  /** The name of a cache's data region; empty: the default region. */
  String region(String cache) {
    return CacheDescriptor.of(ignite, cache)
        .map(present -> present.configuration().getDataRegionName())
        .orElse("");
  }

  private RegionAccounts accounts(String region) {
    return regions.computeIfAbsent(
        region, name -> new RegionAccounts(nodes -> used(nodes, name), System::nanoTime));
  }

  private Map<UUID, Long> used(Collection<UUID> nodes, String region) {
    return metrics.used(
        nodes.stream().collect(Collectors.toMap(id -> id, id -> limit(id, region).region)));
  }

  /** A node publishes its configuration when it joins, so that it never changes. */
  private RegionLimit limit(UUID node, String region) {
    return limits.computeIfAbsent(
        node + "/" + region,
        key -> {
          DataRegionConfiguration known =
              metrics.configuration(node, region.isEmpty() ? null : region);
          return known == null ? RegionLimit.NONE : RegionLimit.of(known);
        });
  }

  private TensorFlowIgniteException full(
      Purpose purpose, RegionAccounts.Full full, long bytes, String what, String remedy) {
    ClusterNode node = ignite.cluster().node(full.node);
    return TensorFlowIgniteException.of(
        ERROR_CODE_STORAGE_FULL,
        "There is no room for %s of %,d bytes: data region '%s' of node %s has %,d of %,d bytes in"
            + " use. Above %,d bytes in use %s are rejected, since Ignite ends a node whose memory"
            + " is full. %s files (`tensorflow-ignite fs du` shows the size of directories)%s, add"
            + " nodes, or give the region more memory (its maxSize in the configuration of every"
            + " node).",
        what,
        bytes,
        full.limit.region,
        node == null ? full.node : node.consistentId(),
        full.used,
        full.limit.size,
        full.limit.bytes(purpose),
        purpose.plural,
        remedy,
        full.limit.region.equals(OwnRegion.NAME) ? " or jobs" : ", jobs or caches");
  }
}
