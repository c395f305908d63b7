package io.tensorflowignite.data.schema;

import io.tensorflowignite.ignite.CacheDescriptor;
import java.util.List;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.QueryEntity;

/**
 * The query entities of a cache as SQL has them now. ALTER TABLE changes these, and not those of
 * the cache's configuration.
 */
public final class CacheEntities {
  private CacheEntities() {}

  /** The query entities; none for a cache without SQL, and for one that does not exist. */
  public static List<QueryEntity> of(Ignite ignite, String cache) {
    return CacheDescriptor.of(ignite, cache).map(CacheDescriptor::entities).orElse(List.of());
  }
}
