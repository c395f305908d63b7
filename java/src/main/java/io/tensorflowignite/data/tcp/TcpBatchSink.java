package io.tensorflowignite.data.tcp;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.BatchArena;
import io.tensorflowignite.data.read.BatchSink;
import io.tensorflowignite.v1.BatchBuffer;
import io.tensorflowignite.v1.BatchLayout;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/**
 * Sends batches over a connection, and waits for a slower reader. The kernel sends its buffers
 * while the next batch is built. Not thread-safe.
 */
public final class TcpBatchSink implements BatchSink {
  /** Bytes before a layout: its length, and the length of the buffers. */
  private static final int LENGTHS = Integer.BYTES + Long.BYTES;

  private final ByteBuffer zeros = ByteBuffer.allocateDirect(BatchArena.ALIGNMENT);
  private final SocketChannel channel;
  private final ReusedArena memory;
  private IOException broken;
  private long rows;

  public TcpBatchSink(SocketChannel channel, ReusedArena memory) {
    this.channel = channel;
    this.memory = memory;
  }

  @Override
  public boolean send(Batch batch) throws InterruptedException {
    long bytes;
    try (Batch sent = batch) {
      bytes = write(sent);
      rows += sent.rows;
    } catch (IOException error) {
      // An interruption closes the connection.
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      broken = error;
      return false;
    }
    memory.next(bytes);
    return true;
  }

  /** Number of rows that were written. */
  public long rows() {
    return rows;
  }

  /** The error that ended the connection; null: none. */
  public IOException broken() {
    return broken;
  }

  /** Returns the total size of the buffers in bytes. */
  private long write(Batch batch) throws IOException {
    BatchLayout.Builder layout = batch.layout();
    List<ByteBuffer> parts = new ArrayList<>();
    long end = 0;
    for (ArrowBuf buffer : batch.buffers()) {
      long bytes = buffer.readableBytes();
      layout.addBuffers(BatchBuffer.newBuilder().setOffset(end).setBytes(bytes));
      end += add(buffer, parts);
    }
    byte[] message = layout.build().toByteArray();
    ByteBuffer head = ByteBuffer.allocate(LENGTHS + message.length);
    head.putInt(message.length).putLong(end).put(message).flip();
    parts.add(0, head);
    write(parts.toArray(new ByteBuffer[0]));
    return end;
  }

  /** Adds a buffer, and zeros up to the next aligned offset; returns the size of both. */
  private long add(ArrowBuf buffer, List<ByteBuffer> parts) {
    long bytes = buffer.readableBytes();
    long from = buffer.readerIndex();
    for (long at = 0; at < bytes; at += Integer.MAX_VALUE) {
      parts.add(buffer.nioBuffer(from + at, (int) Math.min(bytes - at, Integer.MAX_VALUE)));
    }
    int gap = (int) (BatchArena.aligned(bytes) - bytes);
    if (gap > 0) {
      parts.add(zeros.duplicate().limit(gap));
    }
    return bytes + gap;
  }

  private void write(ByteBuffer[] parts) throws IOException {
    int first = 0;
    while (first < parts.length) {
      channel.write(parts, first, parts.length - first);
      while (first < parts.length && !parts[first].hasRemaining()) {
        first++;
      }
    }
  }
}
