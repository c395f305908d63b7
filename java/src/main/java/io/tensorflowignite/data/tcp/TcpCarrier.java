package io.tensorflowignite.data.tcp;

import io.tensorflowignite.data.column.Batch;
import io.tensorflowignite.data.column.BlockMemory;
import io.tensorflowignite.data.read.BatchCarrier;
import io.tensorflowignite.v1.BatchBuffer;
import io.tensorflowignite.v1.BatchLayout;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/**
 * Carries batches over a connection, and waits where its reader is slower. What the system has
 * taken travels while the next batch is built. One thread uses it.
 */
final class TcpCarrier implements BatchCarrier {
  /** What stands before a layout: its length, and that of the buffers. */
  private static final int LENGTHS = Integer.BYTES + Long.BYTES;

  private final ByteBuffer zeros = ByteBuffer.allocateDirect(BlockMemory.ALIGNMENT);
  private final SocketChannel channel;
  private final ReusedMemory memory;
  private IOException broken;
  private long rows;

  TcpCarrier(SocketChannel channel, ReusedMemory memory) {
    this.channel = channel;
    this.memory = memory;
  }

  @Override
  public boolean send(Batch batch) throws InterruptedException {
    long bytes;
    try (Batch sent = batch) {
      bytes = write(sent);
      rows += sent.rows();
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

  /** Rows that the system has taken. */
  long rows() {
    return rows;
  }

  /** Why no more can be sent; null: nothing keeps it. */
  IOException broken() {
    return broken;
  }

  /** Returns the bytes of the buffers together. */
  private long write(Batch batch) throws IOException {
    BatchLayout.Builder layout = batch.layout();
    List<ByteBuffer> parts = new ArrayList<>();
    long end = 0;
    for (ArrowBuf buffer : batch.buffers()) {
      long bytes = buffer.readableBytes();
      layout.addBuffers(BatchBuffer.newBuilder().setOffset(end).setBytes(bytes));
      end += add(buffer, parts);
    }
    byte[] described = layout.build().toByteArray();
    ByteBuffer head = ByteBuffer.allocate(LENGTHS + described.length);
    head.putInt(described.length).putLong(end).put(described).flip();
    parts.add(0, head);
    write(parts.toArray(new ByteBuffer[0]));
    return end;
  }

  /** With zeros up to where the next one may begin; returns the bytes of both. */
  private long add(ArrowBuf buffer, List<ByteBuffer> parts) {
    long bytes = buffer.readableBytes();
    long from = buffer.readerIndex();
    for (long at = 0; at < bytes; at += Integer.MAX_VALUE) {
      parts.add(buffer.nioBuffer(from + at, (int) Math.min(bytes - at, Integer.MAX_VALUE)));
    }
    int gap = (int) (BlockMemory.aligned(bytes) - bytes);
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
