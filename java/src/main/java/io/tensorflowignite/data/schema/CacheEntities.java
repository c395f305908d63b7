package io.tensorflowignite.data.schema;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/**
 * The query entities of a cache as SQL has them now. ALTER TABLE changes these, and not those of
 * the cache's configuration.
 */
public final class CacheEntities {
  private CacheEntities() {}

  /** The query entities; none for a cache without SQL, and for one that does not exist. */
  public static List<QueryEntity> of(Ignite ignite, String cache) {
    return Optional.ofNullable(((IgniteEx) ignite).context().cache().cacheDescriptor(cache))
        .map(DynamicCacheDescriptor::schema)
        .map(schema -> (List<QueryEntity>) new ArrayList<>(schema.entities()))
        .orElse(List.of());
  }
}
