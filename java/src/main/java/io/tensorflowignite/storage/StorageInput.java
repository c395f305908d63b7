package io.tensorflowignite.storage;

import com.google.protobuf.ByteString;
import io.tensorflowignite.storage.block.BlockDownload;
import io.tensorflowignite.v1.Extent;
import io.tensorflowignite.v1.ReadBlocksRequest;
import io.tensorflowignite.v1.ReadBlocksResponse;
import java.io.InputStream;
import java.util.Iterator;

/**
 * Reads one file from within a node, block by block. When the file is replaced meanwhile, the old
 * content comes whole or FILE_CHANGED is thrown. Not for several threads.
 */
public final class StorageInput extends InputStream {
  private final Storage storage;
  private final Iterator<Extent> extents;
  private BlockDownload blocks;
  private ByteString block = ByteString.EMPTY;
  private int position;
  private long left;

  public StorageInput(Storage storage, String path) {
    this.storage = storage;
    this.extents = storage.tree().get(path).getExtentsList().iterator();
  }

  @Override
  public int read() {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int offset, int count) {
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
    while (left == 0) {
      if (!extents.hasNext()) {
        return false;
      }
      Extent extent = extents.next();
      left = extent.getBytes();
      blocks = new BlockDownload(storage.blocks(), storage::needs, allOf(extent));
    }
    ReadBlocksResponse next = blocks.next();
    // The last block may have been written on since the file was looked up.
    block = next.getData().substring(0, (int) Math.min(left, next.getData().size()));
    left -= block.size();
    position = 0;
    return true;
  }

  private static ReadBlocksRequest allOf(Extent extent) {
    ReadBlocksRequest.Builder request = ReadBlocksRequest.newBuilder().setExtentId(extent.getId());
    int number = 0;
    for (long from = 0; from < extent.getBytes(); from += extent.getBlockBytes()) {
      request.addNumbers(number++);
    }
    return request.build();
  }
}
