package io.tensorflowignite.ignite;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.CacheGroupContext;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.query.QueryUtils;

/**
 * What every node knows of a cache, also where it has no part of it. {@code Ignite.cache} would
 * start the cache on this node.
 */
public final class CacheDescriptor {
  private final DynamicCacheDescriptor descriptor;

  CacheDescriptor(DynamicCacheDescriptor descriptor) {
    this.descriptor = descriptor;
  }

  /** The present cache of a name; empty: there is none. */
  public static Optional<CacheDescriptor> of(Ignite ignite, String cache) {
    return Optional.ofNullable(((IgniteEx) ignite).context().cache().cacheDescriptor(cache))
        .map(CacheDescriptor::new);
  }

  public String name() {
    return descriptor.cacheName();
  }

  /** The configuration with which the cache was created. */
  public CacheConfiguration<?, ?> configuration() {
    return descriptor.cacheConfiguration();
  }

  /**
   * The id of the cache's life, from its creation until it is destroyed; the same on all nodes.
   * Ignite gives one id to all caches of a node's configuration, and to all that it reads from
   * disk.
   */
  public String deploymentId() {
    return descriptor.deploymentId() + "/" + name();
  }

  /** Whether its rows are on disk too. */
  public boolean isPersistent() {
    return descriptor.groupDescriptor().persistenceEnabled();
  }

  /**
   * The query entities as SQL has them now; ALTER TABLE changes these, and not those of the
   * configuration. None: a cache without SQL.
   */
  public List<QueryEntity> entities() {
    return new ArrayList<>(descriptor.schema().entities());
  }

  /**
   * The partitions that Ignite marks as lost. None: there are none, or the node has no part of the
   * cache.
   */
  public Collection<Integer> lostPartitions(Ignite ignite) {
    CacheGroupContext here = ((IgniteEx) ignite).context().cache().cacheGroup(descriptor.groupId());
    return here == null ? Set.of() : here.topology().lostPartitions();
  }

  /** The names of the caches of its group, itself among them, sorted. */
  public List<String> groupCaches() {
    return descriptor.groupDescriptor().caches().keySet().stream()
        .sorted()
        .collect(Collectors.toList());
  }

  /** The names of its SQL tables, as SCHEMA.TABLE. */
  public List<String> tables() {
    String schema = QueryUtils.normalizeSchemaName(name(), configuration().getSqlSchema());
    return entities().stream()
        .map(QueryUtils::tableName)
        .map(table -> QueryUtils.normalizeObjectName(table, !configuration().isSqlEscapeAll()))
        .map(table -> schema + "." + table)
        .collect(Collectors.toList());
  }
}
