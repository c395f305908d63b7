package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.WriteMode.WRITE_MODE_REPLACE;

import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;
import java.io.OutputStream;
import java.util.Objects;

/**
 * Writes one file from within a node. Readers see the bytes after {@link #publish} or {@link
 * #close}. One block is in memory. After a failed call {@link #close} publishes nothing.
 *
 * <p>Not thread-safe. Before a pause as long as the writer timeout the caller must publish: this
 * keeps the writer alive, and published bytes stay. Errors are {@link
 * io.tensorflowignite.base.TensorFlowIgniteException}s.
 */
public final class StorageOutput extends OutputStream {
  private static final int BLOCKS_PER_RESERVATION = 16;

  private final Storage storage;
  private final String path;
  private final String extent;
  private final byte[] block;
  private int filled;
  private int blocks;
  private int reserved;
  private boolean failed;
  private boolean ended;

  /** Replaces an existing file; creates missing directories. */
  public StorageOutput(Storage storage, String path) {
    this(storage, path, WRITE_MODE_REPLACE);
  }

  /** Creates missing directories. */
  public StorageOutput(Storage storage, String path, WriteMode mode) {
    this.storage = storage;
    this.path = path;
    BeginWriteResponse started =
        storage
            .writers()
            .begin(
                BeginWriteRequest.newBuilder()
                    .setPath(path)
                    .setParents(true)
                    .setMode(mode)
                    .build());
    extent = started.getExtentId();
    block = new byte[started.getBlockBytes()];
    // The short last extent of the file, which is written again: less than a block.
    started.getHead().copyTo(block, 0);
    filled = started.getHead().size();
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

  /** Makes all written bytes visible; the writer goes on. */
  public void publish() {
    requireOpen();
    publish(false);
  }

  /** Publishes, unless a call has failed, and ends the writer. */
  @Override
  public void close() {
    if (failed) {
      abandon();
    } else if (!ended) {
      publish(true);
      ended = true;
    }
  }

  /** Ends without a further publication; published bytes stay. */
  public void abandon() {
    if (!ended) {
      ended = true;
      storage.writers().abandon(extent);
    }
  }

  private void publish(boolean done) {
    if (filled > 0) {
      store();
    }
    failed = true;
    storage
        .writers()
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
      reserved = storage.writers().reserve(extent, blocks + BLOCKS_PER_RESERVATION);
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
          "The writer of '" + path + "' (extent " + extent + ") has ended");
    }
  }
}
