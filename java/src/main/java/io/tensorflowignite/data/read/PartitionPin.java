package io.tensorflowignite.data.read;

import io.tensorflowignite.ignite.LocalPartition;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;

/**
 * Keeps the rows of partitions on this node while it is open, even if the partitions move. A local
 * SQL query does not, and misses rows that Ignite removes before the query reads them.
 */
public final class PartitionPin implements AutoCloseable {
  private final List<LocalPartition> reserved = new ArrayList<>();

  public static PartitionPin of(
      IgniteCache<Object, Object> cache, List<Integer> partitions, PartitionOwners owners) {
    PartitionPin pin = new PartitionPin();
    for (int partition : partitions) {
      owners.requirePrimaryHere(partition);
      try {
        pin.reserved.add(LocalPartition.reserve(cache, partition));
      } catch (IgniteException failure) {
        pin.close();
        if (!owners.isPrimaryHere(partition)) {
          throw owners.notPrimaryHere(partition, failure);
        }
        throw failure;
      }
    }
    return pin;
  }

  /** Keeps a REPLICATED cache, of which this node must have all rows. */
  public static PartitionPin whole(IgniteCache<Object, Object> cache, PartitionOwners owners) {
    PartitionPin pin = new PartitionPin();
    for (int partition = 0; partition < owners.count(); partition++) {
      try {
        pin.reserved.add(LocalPartition.reserve(cache, partition));
      } catch (IgniteException failure) {
        pin.close();
        throw owners.incompleteHere(partition, failure);
      }
    }
    return pin;
  }

  /** The number of rows of each partition, in their order. */
  public List<Long> rows() {
    return reserved.stream().map(LocalPartition::size).collect(Collectors.toList());
  }

  @Override
  public void close() {
    reserved.forEach(LocalPartition::close);
    reserved.clear();
  }
}
