package io.tensorflowignite.data.load;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.lang.IgniteFuture;

/**
 * Writes rows through Ignite's data streamer, which collects them for the nodes that store them.
 */
final class StreamedChunks implements ChunkWriter {
  /** Approximate bytes of rows that the streamer collects for a node before it sends them. */
  private static final long BUFFER_BYTES = 4L << 20;

  private static final int MAX_BUFFER_ROWS = 1024;

  private static final int PARALLEL_SENDS = 8;

  /** Rows in buffers keep the memory that is reserved for them. */
  private static final long FLUSH_MILLIS = 1_000;

  private final IgniteDataStreamer<Object, Object> streamer;
  private final Consumer<Throwable> failed;

  /**
   * @param overwrites whether the cache may have rows already
   * @param failed gets the errors of rows that could not be written
   */
  StreamedChunks(
      IgniteDataStreamer<Object, Object> streamer, boolean overwrites, Consumer<Throwable> failed) {
    this.streamer = streamer;
    this.failed = failed;
    streamer.keepBinary(true);
    streamer.allowOverwrite(overwrites);
    streamer.perNodeParallelOperations(PARALLEL_SENDS);
    streamer.autoFlushFrequency(FLUSH_MILLIS);
  }

  @Override
  public void write(RowChunk chunk, PendingRows memory) {
    fitBuffers(chunk);
    Set<IgniteFuture<?>> watched = Collections.newSetFromMap(new IdentityHashMap<>());
    chunk.forEach(
        (key, value) -> {
          // Consecutive rows often share a future.
          IgniteFuture<?> sent = streamer.addData(key, value);
          if (watched.add(sent)) {
            watch(sent, memory);
          }
        });
  }

  @Override
  public void flush() {
    streamer.flush();
  }

  /**
   * Buffered rows are stored first: Ignite's own cancellation interrupts the threads that write on
   * this node, and such an interruption stops the node.
   */
  @Override
  public void close() {
    streamer.close(false);
  }

  /** Sets the streamer's buffers, which Ignite counts in rows, by the size of the next rows. */
  private synchronized void fitBuffers(RowChunk chunk) {
    long fitting = BUFFER_BYTES * chunk.rows() / chunk.bytes();
    int size = (int) Math.max(1, Math.min(MAX_BUFFER_ROWS, fitting));
    streamer.perNodeBufferSize(size);
    streamer.perThreadBufferSize(size);
  }

  private void watch(IgniteFuture<?> sent, PendingRows memory) {
    memory.sent();
    sent.listen(
        done -> {
          try {
            done.get();
          } catch (RuntimeException error) {
            failed.accept(error);
          } finally {
            memory.done();
          }
        });
  }
}
