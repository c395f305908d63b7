package io.tensorflowignite.data.load;

import org.apache.ignite.IgniteCache;

/**
 * Puts each row by an operation of its own, as a transactional cache needs: there, an operation of
 * several rows waits for the locks of all.
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
