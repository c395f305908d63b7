package io.tensorflowignite.storage;

import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.v1.BeginWriteRequest;
import io.tensorflowignite.v1.BeginWriteResponse;
import io.tensorflowignite.v1.PublishWriteRequest;
import io.tensorflowignite.v1.WriteMode;
import java.io.OutputStream;

/**
 * Writes one file from within a node; it replaces what is there when this is closed, and makes
 * missing directories. Not for several threads, and not to be left alone for longer than the
 * writer's timeout. Errors are {@link io.tensorflowignite.TensorFlowIgniteException}s.
 */
public final class StorageOutput extends OutputStream {
  private static final int RESERVED_AT_ONCE = 16;

  private final Storage storage;
  private final String extent;
  private final byte[] block;
  private int filled;
  private int blocks;
  private int reserved;
  private boolean ended;

  public StorageOutput(Storage storage, String path) {
    this.storage = storage;
    BeginWriteResponse begun =
        storage
            .writes()
            .begin(
                BeginWriteRequest.newBuilder()
                    .setPath(path)
                    .setParents(true)
                    .setMode(WriteMode.REPLACE)
                    .build());
    this.extent = begun.getExtentId();
    this.block = new byte[begun.getBlockBytes()];
  }

  @Override
  public void write(int value) {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] data, int offset, int count) {
    if (ended) {
      throw new IllegalStateException("Extent " + extent + " was closed, and takes no more bytes");
    }
    int from = offset;
    while (from < offset + count) {
      int part = Math.min(offset + count - from, block.length - filled);
      System.arraycopy(data, from, block, filled, part);
      filled += part;
      from += part;
      if (filled == block.length) {
        putBlock();
      }
    }
  }

  /** Makes the file visible, unless it was abandoned. */
  @Override
  public void close() {
    if (ended) {
      return;
    }
    long bytes = (long) blocks * block.length + filled;
    if (filled > 0) {
      putBlock();
    }
    storage
        .writes()
        .publish(
            PublishWriteRequest.newBuilder()
                .setExtentId(extent)
                .setBytes(bytes)
                .setDone(true)
                .build());
    ended = true;
  }

  /** Ends without a file, unless it was closed: what was there stays. */
  public void abandon() {
    if (!ended) {
      ended = true;
      storage.writes().abandon(extent);
    }
  }

  private void putBlock() {
    if (blocks == reserved) {
      reserved = storage.writes().reserve(extent, blocks + RESERVED_AT_ONCE);
    }
    storage.blocks().put(extent, blocks++, Block.of(block, 0, filled));
    filled = 0;
  }
}
