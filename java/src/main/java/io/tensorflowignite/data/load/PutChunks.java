package io.tensorflowignite.data.load;

import org.apache.ignite.IgniteCache;

/**
 * Puts the rows of a chunk together, by one operation of an atomic cache: one for each row takes a
 * third longer, and sends a message for each row to each backup. The calling thread puts them if
 * they are primary on this node, so this is for rows that are beside their reader. They are stored,
 * backups included, when the operation returns; Ignite repeats it when nodes have changed.
 */
final class PutChunks implements ChunkWriter {
  private final IgniteCache<Object, Object> cache;

  PutChunks(IgniteCache<Object, Object> cache) {
    this.cache = cache;
  }

  @Override
  public void write(RowChunk chunk, PendingRows memory) {
    memory.sent();
    try {
      cache.putAll(chunk.byKey());
    } finally {
      memory.done();
    }
  }

  @Override
  public void flush() {
    // Nothing waits.
  }

  @Override
  public void close() {
    // Nothing waits.
  }
}
