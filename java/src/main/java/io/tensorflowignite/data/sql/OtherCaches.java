package io.tensorflowignite.data.sql;

import io.tensorflowignite.data.loss.CacheLosses;
import io.tensorflowignite.data.read.PartitionOwners;
import io.tensorflowignite.data.read.PartitionPin;
import io.tensorflowignite.data.schema.CacheLookup;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/**
 * The caches that a SELECT reads beside its own cache. It reads the same partitions of a
 * PARTITIONED cache as of its own cache, on the same nodes, and all rows of a REPLICATED cache on
 * each node.
 */
final class OtherCaches {
  private final Map<IgniteCache<Object, Object>, PartitionOwners> partitioned;
  private final Map<IgniteCache<Object, Object>, PartitionOwners> replicated;

  private OtherCaches(
      Map<IgniteCache<Object, Object>, PartitionOwners> partitioned,
      Map<IgniteCache<Object, Object>, PartitionOwners> replicated) {
    this.partitioned = partitioned;
    this.replicated = replicated;
  }

  /**
   * @param own the SELECT's own cache
   */
  static OtherCaches of(Ignite ignite, UUID localNode, String own, List<SqlTable> tables) {
    Map<IgniteCache<Object, Object>, PartitionOwners> partitioned = new LinkedHashMap<>();
    Map<IgniteCache<Object, Object>, PartitionOwners> replicated = new LinkedHashMap<>();
    Map<String, SqlTable> byCache =
        tables.stream()
            .filter(table -> !table.cache().equals(own))
            .collect(
                Collectors.toMap(
                    SqlTable::cache, table -> table, (first, again) -> first, LinkedHashMap::new));
    byCache.forEach(
        (name, table) ->
            (table.affinity().isReplicated() ? replicated : partitioned)
                .put(
                    new CacheLookup(ignite).binary(name),
                    new PartitionOwners(ignite, localNode, name)));
    return new OtherCaches(partitioned, replicated);
  }

  List<String> names() {
    return Stream.concat(partitioned.keySet().stream(), replicated.keySet().stream())
        .map(IgniteCache::getName)
        .collect(Collectors.toList());
  }

  /** The owners of the partitions of each PARTITIONED cache. */
  List<PartitionOwners> owners() {
    return List.copyOf(partitioned.values());
  }

  /** The partitions that Ignite does not read, of some cache. */
  List<Integer> unreadable(CacheLosses losses) {
    return partitioned.keySet().stream()
        .flatMap(cache -> losses.remembered(cache.getName()).stream())
        .collect(Collectors.toList());
  }

  /** Throws if one of the partitions, or any of a REPLICATED cache, has no copy. */
  void requireWhole(CacheLosses losses, List<Integer> partitions) {
    partitioned.keySet().forEach(cache -> losses.requireWhole(cache.getName(), partitions));
    replicated.forEach(
        (cache, owners) -> losses.requireWhole(cache.getName(), owners.resolve(List.of())));
  }

  /** Throws if partitions have another owner in one of the caches than in the SELECT's own. */
  void requireSameOwners(PartitionOwners own, List<Integer> partitions) {
    partitioned.values().forEach(owners -> owners.requireSame(own, partitions));
  }

  /** Keeps the rows that the SELECT reads on this node. */
  Pins pin(List<Integer> partitions) {
    Pins pins = new Pins();
    try {
      partitioned.forEach(
          (cache, owners) -> pins.held.add(PartitionPin.of(cache, partitions, owners)));
      replicated.forEach((cache, owners) -> pins.held.add(PartitionPin.whole(cache, owners)));
    } catch (RuntimeException failure) {
      pins.close();
      throw failure;
    }
    return pins;
  }

  /** Rows that stay on this node while this is open. */
  static final class Pins implements AutoCloseable {
    private final List<PartitionPin> held = new ArrayList<>();

    @Override
    public void close() {
      held.forEach(PartitionPin::close);
    }
  }
}
