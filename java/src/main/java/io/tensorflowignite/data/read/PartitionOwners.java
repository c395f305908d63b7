package io.tensorflowignite.data.read;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PARTITION_NOT_LOCAL;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;

/** The current owners of the partitions of one cache. */
public final class PartitionOwners {
  /** Much longer than Ignite's exchange takes, unless a transaction blocks it. */
  private static final int NEW_OWNERS_SECONDS = 10;

  private static final int POLL_MILLIS = 20;

  private final Ignite ignite;
  private final UUID localNode;
  private final String cache;
  private final Affinity<Object> affinity;

  public PartitionOwners(Ignite ignite, UUID localNode, String cache) {
    this.ignite = ignite;
    this.localNode = localNode;
    this.cache = cache;
    this.affinity = ignite.affinity(cache);
  }

  /** Number of the cache's partitions. */
  public int count() {
    return affinity.partitions();
  }

  /** The partition that a key belongs to. */
  public int partition(Object key) {
    return affinity.partition(key);
  }

  /**
   * The named partitions, or all of them if none is named; throws for a wrong or repeated number.
   */
  public List<Integer> resolve(List<Integer> named) {
    int count = affinity.partitions();
    Set<Integer> distinct = new HashSet<>();
    for (int partition : named) {
      if (partition < 0 || partition >= count || !distinct.add(partition)) {
        throw invalidRequest(
            "partition %d cannot be read from cache %s, or is named twice; the cache has partitions"
                + " 0 to %d, and a request names each at most once; remove the number from the"
                + " request's partitions",
            partition, cache, count - 1);
      }
    }
    return named.isEmpty() ? IntStream.range(0, count).boxed().collect(Collectors.toList()) : named;
  }

  /**
   * The owners with their partitions: nodes in the order in which they joined, partitions in the
   * given order. If an owner has left and Ignite has not assigned a new one yet, this waits for at
   * most {@value #NEW_OWNERS_SECONDS} s.
   */
  public Map<ClusterNode, List<Integer>> byNode(List<Integer> partitions) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(NEW_OWNERS_SECONDS);
    while (true) {
      Map<Integer, ClusterNode> owners = affinity.mapPartitionsToNodes(partitions);
      Set<UUID> present =
          ignite.cluster().nodes().stream().map(ClusterNode::id).collect(Collectors.toSet());
      Map<ClusterNode, List<Integer>> byNode =
          new TreeMap<>(Comparator.comparingLong(ClusterNode::order));
      OptionalInt left = OptionalInt.empty();
      for (int partition : partitions) {
        ClusterNode owner = owners.get(partition);
        if (owner == null) {
          throw notOwned(partition, "no owner");
        }
        if (present.contains(owner.id())) {
          byNode.computeIfAbsent(owner, node -> new ArrayList<>()).add(partition);
        } else {
          left = OptionalInt.of(partition);
        }
      }
      if (left.isEmpty()) {
        return Collections.unmodifiableMap(byNode);
      }
      if (System.nanoTime() > deadline) {
        UUID owner = owners.get(left.getAsInt()).id();
        throw notOwned(left.getAsInt(), "an owner that has left the cluster, node " + owner);
      }
      pause();
    }
  }

  public boolean isPrimaryHere(int partition) {
    ClusterNode owner = affinity.mapPartitionToNode(partition);
    return owner != null && owner.id().equals(localNode);
  }

  public void requirePrimaryHere(int partition) {
    if (!isPrimaryHere(partition)) {
      throw notPrimaryHere(partition, null);
    }
  }

  public TensorFlowIgniteException notPrimaryHere(int partition, Throwable cause) {
    ClusterNode owner = affinity.mapPartitionToNode(partition);
    return new TensorFlowIgniteException(
        ERROR_CODE_PARTITION_NOT_LOCAL,
        String.format(
            "partition %d of cache %s is not primary on node %s but on %s; a node sends only rows"
                + " of its own primary partitions; request the owners again (GetFlightInfo) and"
                + " read this partition again",
            partition, cache, localNode, owner == null ? "none" : owner.id()),
        cause);
  }

  /** A node that has joined does not have all rows of a REPLICATED cache yet. */
  TensorFlowIgniteException incompleteHere(int partition, Throwable cause) {
    return new TensorFlowIgniteException(
        ERROR_CODE_PARTITION_NOT_LOCAL,
        String.format(
            "partition %d of the REPLICATED cache %s is not on node %s yet; a SELECT needs all rows"
                + " of a REPLICATED cache on each node; try again when the cluster has rebalanced,"
                + " or create the cache without a node filter",
            partition, cache, localNode),
        cause);
  }

  /**
   * Requires that partitions of this cache have the same owners as the partitions of a co-located
   * cache. While the cluster rebalances, the owners may differ: this waits for at most {@value
   * #NEW_OWNERS_SECONDS} s.
   */
  public void requireSame(PartitionOwners other, List<Integer> partitions) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(NEW_OWNERS_SECONDS);
    while (true) {
      Map<Integer, ClusterNode> owners = affinity.mapPartitionsToNodes(partitions);
      Map<Integer, ClusterNode> others = other.affinity.mapPartitionsToNodes(partitions);
      Optional<Integer> different =
          partitions.stream()
              .filter(partition -> !Objects.equals(owners.get(partition), others.get(partition)))
              .findFirst();
      if (different.isEmpty()) {
        return;
      }
      if (System.nanoTime() > deadline) {
        throw TensorFlowIgniteException.of(
            ERROR_CODE_PARTITION_NOT_LOCAL,
            "partition %d of cache %s is on another node than in cache %s; a SELECT over both"
                + " is answered by the owner of both, and a request waits %d s for that; try again"
                + " when the cluster has rebalanced",
            different.get(),
            cache,
            other.cache,
            NEW_OWNERS_SECONDS);
      }
      pause();
    }
  }

  private TensorFlowIgniteException notOwned(int partition, String owner) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_PARTITION_NOT_LOCAL,
        "partition %d of cache %s has %s; only present owners send rows, and a request waits %d s"
            + " for a new owner; try again when the cluster has rebalanced",
        partition,
        cache,
        owner,
        NEW_OWNERS_SECONDS);
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IgniteInterruptedException(interrupted);
    }
  }
}
