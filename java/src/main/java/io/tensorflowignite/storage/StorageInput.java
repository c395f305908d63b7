package io.tensorflowignite.storage;

import com.google.protobuf.ByteString;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.FileKind;
import java.io.InputStream;
import java.util.Objects;

/**
 * Reads one file from within a node, as it was when this was made; one block of it is in memory.
 * When the file is replaced or removed meanwhile, its old content comes whole, or FILE_CHANGED is
 * thrown. Not for several threads. Errors are {@link TensorFlowIgniteException}s.
 */
public final class StorageInput extends InputStream {
  private final Storage storage;
  private final FileInfo file;
  private int extent;
  private int number;
  private ByteString block = ByteString.EMPTY;
  private int position;

  public StorageInput(Storage storage, String path) {
    this.storage = storage;
    this.file = storage.tree().get(path);
    if (file.getKind() != FileKind.REGULAR_FILE) {
      throw new TensorFlowIgniteException(
          ErrorCode.IS_A_DIRECTORY,
          "'" + path + "' is a directory. A file is asked for. Choose another path.");
    }
  }

  /** What is read: also its size. */
  public FileInfo file() {
    return file;
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, into.length);
    if (count == 0) {
      return 0;
    }
    if (position == block.size() && !nextBlock()) {
      return -1;
    }
    int part = Math.min(count, block.size() - position);
    block.substring(position, position + part).copyTo(into, offset);
    position += part;
    return part;
  }

  private boolean nextBlock() {
    while (extent < file.getExtentsCount()) {
      Extent current = file.getExtents(extent);
      long left = current.getBytes() - (long) number * current.getBlockBytes();
      if (left > 0) {
        Block next = storage.blocks().get(current.getId(), number, storage::needs);
        int count = (int) Math.min(left, current.getBlockBytes());
        if (next.size() < count) {
          throw Blocks.lost(current.getId(), number);
        }
        // The last block may have been written on since the file was looked up.
        block = next.data(0, count);
        position = 0;
        number++;
        return true;
      }
      extent++;
      number = 0;
    }
    return false;
  }
}
