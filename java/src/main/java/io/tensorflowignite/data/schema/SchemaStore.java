package io.tensorflowignite.data.schema;

import io.tensorflowignite.region.MemoryReserve;
import io.tensorflowignite.region.Purpose;
import io.tensorflowignite.table.SystemCache;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** The Arrow schemas that loads have stored, by the cache's name, in a replicated cache. */
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
    MemoryReserve.of(ignite)
        .put(
            Purpose.ENTRY,
            SystemCache.SCHEMAS.open(ignite),
            cache,
            schema.serializeAsMessage(),
            "the schema of cache " + cache);
  }

  public void remove(String cache) {
    IgniteCache<String, byte[]> schemas = ignite.cache(SystemCache.SCHEMAS.cacheName());
    if (schemas != null) {
      schemas.remove(cache);
    }
  }
}
