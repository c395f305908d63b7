package io.tensorflowignite.data.read;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
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

/** Which nodes own the primary partitions of one cache, now. */
public final class PartitionOwners {
  /** Far longer than an exchange takes that no transaction holds up. */
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

  /** How many partitions the cache has. */
  public int count() {
    return affinity.partitions();
  }

  /** The partition that a key belongs to. */
  public int partition(Object key) {
    return affinity.partition(key);
  }

  /** The partitions named, or all of them when none is; rejects what the cache does not have. */
  public List<Integer> resolve(List<Integer> named) {
    int count = affinity.partitions();
    Set<Integer> seen = new HashSet<>();
    for (int partition : named) {
      if (partition < 0 || partition >= count || !seen.add(partition)) {
        throw new TensorFlowIgniteException(
            ErrorCode.INVALID_REQUEST,
            String.format(
                "partition %d cannot be read from cache %s, or is named twice; its partitions are 0"
                    + " to %d, each read once; correct the list of partitions",
                partition, cache, count - 1));
      }
    }
    return named.isEmpty() ? IntStream.range(0, count).boxed().collect(Collectors.toList()) : named;
  }

  /**
   * The owner of each partition, nodes in the order in which they joined, partitions in the order
   * given. Between the moment when a node leaves and the one when Ignite has named new owners it
   * waits for these, {@value #NEW_OWNERS_SECONDS} s at most.
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
        throw notOwned(left.getAsInt(), "an owner that has left, node " + owner);
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
        ErrorCode.PARTITION_NOT_LOCAL,
        String.format(
            "partition %d of cache %s is not primary on node %s but on %s; a node sends the rows of"
                + " its own primary partitions; ask for the owners again (GetFlightInfo) and read"
                + " this partition anew",
            partition, cache, localNode, owner == null ? "none" : owner.id()),
        cause);
  }

  private TensorFlowIgniteException notOwned(int partition, String who) {
    return new TensorFlowIgniteException(
        ErrorCode.PARTITION_NOT_LOCAL,
        String.format(
            "partition %d of cache %s has %s; rows are read from owners that are present, and new"
                + " ones are waited for %d s; ask again when the cluster has rebalanced",
            partition, cache, who, NEW_OWNERS_SECONDS));
  }

  private void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IgniteInterruptedException(e);
    }
  }
}
