package io.tensorflowignite.storage.tree;

import com.google.protobuf.ByteString;
import io.tensorflowignite.storage.pending.Pendings;
import io.tensorflowignite.v1.Extent;
import java.util.function.BiFunction;

/** Reads the short extents that appending writers replace. */
final class Tails {
  private final BiFunction<String, Integer, byte[]> blocks;

  Tails(BiFunction<String, Integer, byte[]> blocks) {
    this.blocks = blocks;
  }

  /** Its bytes; null when some are not there. */
  ByteString read(Extent extent) {
    ByteString bytes = ByteString.EMPTY;
    if (extent.getBytes() == 0) {
      return bytes;
    }
    int count = Pendings.blocks(extent.getBytes(), extent.getBlockBytes());
    for (int number = 0; number < count; number++) {
      long left = extent.getBytes() - bytes.size();
      int wanted = (int) Math.min(left, extent.getBlockBytes());
      byte[] block = blocks.apply(extent.getId(), number);
      // Of the last block there may be more than has been published.
      if (block == null || block.length < wanted) {
        return null;
      }
      bytes = bytes.concat(ByteString.copyFrom(block, 0, wanted));
    }
    return bytes;
  }
}
