package io.tensorflowignite.data.load;

import org.apache.ignite.IgniteCache;

/**
 * Puts each row in an operation of its own. A transactional cache needs this: an operation on
 * several rows waits for the locks of all rows.
 */
final class PutRows implements ChunkWriter {
  private final IgniteCache<Object, Object> cache;

  PutRows(IgniteCache<Object, Object> cache) {
    this.cache = cache;
  }

  @Override
  public void write(RowChunk chunk, PendingRows memory) {
    chunk.forEach(cache::put);
  }

  @Override
  public void flush() {
    // Nothing waits.
  }
}
