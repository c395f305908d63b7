package io.tensorflowignite.data;

import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.configuration.CacheConfiguration;

/** The Arrow schemas of loaded caches, by the cache's name, in a replicated cache. */
final class SchemaStore {
  static final String CACHE = "tensorflow-ignite-schemas";

  private final Ignite ignite;

  SchemaStore(Ignite ignite) {
    this.ignite = ignite;
  }

  Optional<Schema> get(String cache) {
    IgniteCache<String, byte[]> schemas = ignite.cache(CACHE);
    byte[] bytes = schemas == null ? null : schemas.get(cache);
    return Optional.ofNullable(bytes).map(b -> Schema.deserializeMessage(ByteBuffer.wrap(b)));
  }

  void put(String cache, Schema schema) {
    ignite
        .getOrCreateCache(
            new CacheConfiguration<String, byte[]>(CACHE)
                .setCacheMode(CacheMode.REPLICATED)
                .setAtomicityMode(CacheAtomicityMode.TRANSACTIONAL)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC))
        .put(cache, schema.serializeAsMessage());
  }

  void remove(String cache) {
    IgniteCache<String, byte[]> schemas = ignite.cache(CACHE);
    if (schemas != null) {
      schemas.remove(cache);
    }
  }
}
