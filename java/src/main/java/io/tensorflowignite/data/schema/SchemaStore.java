package io.tensorflowignite.data.schema;

import io.tensorflowignite.table.SystemCache;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** The Arrow schemas of loaded caches, by the cache's name, in a replicated cache. */
public final class SchemaStore {
  private final Ignite ignite;

  public SchemaStore(Ignite ignite) {
    this.ignite = ignite;
  }

  public Optional<Schema> get(String cache) {
    IgniteCache<String, byte[]> schemas = ignite.cache(SystemCache.SCHEMAS.cacheName());
    byte[] bytes = schemas == null ? null : schemas.get(cache);
    return Optional.ofNullable(bytes).map(b -> Schema.deserializeMessage(ByteBuffer.wrap(b)));
  }

  public void put(String cache, Schema schema) {
    SystemCache.SCHEMAS.open(ignite).put(cache, schema.serializeAsMessage());
  }

  public void remove(String cache) {
    IgniteCache<String, byte[]> schemas = ignite.cache(SystemCache.SCHEMAS.cacheName());
    if (schemas != null) {
      schemas.remove(cache);
    }
  }
}
