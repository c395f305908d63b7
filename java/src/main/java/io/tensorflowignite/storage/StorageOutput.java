package io.tensorflowignite.storage;

import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;
import java.io.OutputStream;
import java.util.Objects;

/**
 * Writes one file from within a node; what is written is seen when it is published, or when this is
 * closed. One block of it is in memory. After a failed call {@link #close} publishes nothing.
 *
 * <p>Not for several threads. Who pauses for as long as a writer's timeout, publishes before that:
 * what has been published stays, and publishing is a sign of life. Errors are {@link
 * io.tensorflowignite.TensorFlowIgniteException}s.
 */
public final class StorageOutput extends OutputStream {
  private static final int RESERVED_AT_ONCE = 16;

  private final Storage storage;
  private final String path;
  private final String extent;
  private final byte[] block;
  private int filled;
  private int blocks;
  private int reserved;
  private boolean failed;
  private boolean ended;

  /** Replaces what is there; makes missing directories. */
  public StorageOutput(Storage storage, String path) {
    this(storage, path, WriteMode.REPLACE);
  }

  /** Makes missing directories. */
  public StorageOutput(Storage storage, String path, WriteMode mode) {
    this.storage = storage;
    this.path = path;
    BeginWriteResponse begun =
        storage
            .writes()
            .begin(
                BeginWriteRequest.newBuilder()
                    .setPath(path)
                    .setParents(true)
                    .setMode(mode)
                    .build());
    extent = begun.getExtentId();
    block = new byte[begun.getBlockBytes()];
    // What is written again of the file's short end: always less than a block.
    begun.getHead().copyTo(block, 0);
    filled = begun.getHead().size();
  }

  @Override
  public void write(int value) {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] data) {
    write(data, 0, data.length);
  }

  @Override
  public void write(byte[] data, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, data.length);
    requireOpen();
    int from = offset;
    int end = offset + count;
    while (from < end) {
      int part = Math.min(end - from, block.length - filled);
      System.arraycopy(data, from, block, filled, part);
      filled += part;
      from += part;
      if (filled == block.length) {
        store();
        blocks++;
        filled = 0;
      }
    }
  }

  /** Makes what has been written visible, all of it, and goes on. */
  public void publish() {
    requireOpen();
    publish(false);
  }

  /** Publishes, unless a call has failed, and ends; once. */
  @Override
  public void close() {
    if (failed) {
      abandon();
    } else if (!ended) {
      publish(true);
      ended = true;
    }
  }

  /** Ends without a further publication; what has been published stays. */
  public void abandon() {
    if (!ended) {
      ended = true;
      storage.writes().abandon(extent);
    }
  }

  private void publish(boolean done) {
    if (filled > 0) {
      store();
    }
    failed = true;
    storage
        .writes()
        .publish(
            PublishWriteRequest.newBuilder()
                .setPath(path)
                .setExtentId(extent)
                .setBytes((long) blocks * block.length + filled)
                .setDone(done)
                .build());
    failed = false;
  }

  private void store() {
    failed = true;
    if (blocks == reserved) {
      reserved = storage.writes().reserve(extent, blocks + RESERVED_AT_ONCE);
    }
    Block stored = Block.of(block, 0, filled);
    if (filled == block.length) {
      storage.blocks().put(extent, blocks, stored);
    } else {
      storage.blocks().grow(extent, blocks, stored);
    }
    failed = false;
  }

  private void requireOpen() {
    if (ended || failed) {
      throw new IllegalStateException(
          "The writer of '" + path + "' (extent " + extent + ") has ended, and takes no more");
    }
  }
}
