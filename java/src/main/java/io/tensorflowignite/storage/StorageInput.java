package io.tensorflowignite.storage;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_IS_A_DIRECTORY;
import static io.tensorflowignite.v1.FileKind.FILE_KIND_REGULAR;

import com.google.protobuf.ByteString;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.storage.block.Block;
import io.tensorflowignite.storage.block.Blocks;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.FileInfo;
import java.io.InputStream;
import java.util.Objects;

/**
 * Reads one file from within a node, as it was when this stream was opened. One block is in memory.
 * When the file is replaced or removed meanwhile, the stream returns its whole old content or
 * throws FILE_CHANGED. Not thread-safe. Errors are {@link TensorFlowIgniteException}s.
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
    if (file.getKind() != FILE_KIND_REGULAR) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_IS_A_DIRECTORY,
          "'" + path + "' is a directory. The call requires a file. Choose another path.");
    }
  }

  /** The file, with its size. */
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

  /** Reads no block that is skipped as a whole. Stops only at the end of the file. */
  @Override
  public long skip(long count) {
    int here = (int) Math.max(0, Math.min(count, block.size() - position));
    position += here;
    long left = Math.max(0, count) - here;
    while (left > 0 && extent < file.getExtentsCount()) {
      Extent current = file.getExtents(extent);
      long rest = current.getBytes() - (long) number * current.getBlockBytes();
      long next = Math.min(rest, current.getBlockBytes());
      if (next <= 0) {
        extent++;
        number = 0;
      } else if (next <= left) {
        number++;
        left -= next;
        block = ByteString.EMPTY;
        position = 0;
      } else if (nextBlock()) {
        position = (int) left;
        left = 0;
      }
    }
    return Math.max(0, count) - left;
  }

  private boolean nextBlock() {
    while (extent < file.getExtentsCount()) {
      Extent current = file.getExtents(extent);
      long left = current.getBytes() - (long) number * current.getBlockBytes();
      if (left > 0) {
        Block next = storage.blocks().get(current.getId(), number, storage::isNeeded);
        int count = (int) Math.min(left, current.getBlockBytes());
        if (next.size() < count) {
          throw Blocks.blockLost(current.getId(), number);
        }
        // The last block may have grown since the file was opened.
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
