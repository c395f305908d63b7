package io.tensorflowignite.data.load;

import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.lang.IgniteFuture;

/**
 * Puts the rows of a chunk together, by one operation of an atomic cache: one for each row takes a
 * third longer, and sends a message for each row to each backup. The calling thread puts rows that
 * are primary on this node. Rows are stored, backups included, when their operation ends; Ignite
 * repeats it when nodes have changed.
 *
 * <p>Ignite's data streamer is no substitute: rows of a new cache wait in its threads behind rows
 * of existing caches. When nodes change, these wait for the partition map exchange, which waits for
 * the rows of the new cache, and no node goes on.
 */
final class PutChunks implements ChunkWriter {
  private static final int MAX_SENT = 16;

  private final IgniteCache<Object, Object> cache;
  private final Consumer<Throwable> failed;

  /** One permit for each chunk on its way. Fair, so that a flush gets all permits. */
  private final Semaphore room = new Semaphore(MAX_SENT, true);

  /**
   * @param failed gets the errors of rows that could not be written
   */
  PutChunks(IgniteCache<Object, Object> cache, Consumer<Throwable> failed) {
    this.cache = cache;
    this.failed = failed;
  }

  @Override
  public void write(RowChunk chunk, PendingRows memory) {
    room.acquireUninterruptibly();
    memory.sent();
    IgniteFuture<Void> sent;
    try {
      sent = cache.putAllAsync(chunk.byKey());
    } catch (RuntimeException error) {
      ended(memory);
      throw error;
    }
    sent.listen(
        done -> {
          try {
            done.get();
          } catch (RuntimeException error) {
            failed.accept(error);
          } finally {
            ended(memory);
          }
        });
  }

  @Override
  public void flush() {
    room.acquireUninterruptibly(MAX_SENT);
    room.release(MAX_SENT);
  }

  private void ended(PendingRows memory) {
    memory.done();
    room.release();
  }
}
