package io.tensorflowignite.storage.tree;

import com.google.protobuf.ByteString;
import io.tensorflowignite.storage.pending.PendingTable;
import io.tensorflowignite.v1.Extent;
import java.util.function.BiFunction;

/** Reads the short last extents of files, which appending writers replace. */
final class TailExtents {
  private final BiFunction<String, Integer, byte[]> blocks;

  TailExtents(BiFunction<String, Integer, byte[]> blocks) {
    this.blocks = blocks;
  }

  /** The extent's bytes; null when a block is missing. */
  ByteString read(Extent extent) {
    ByteString bytes = ByteString.EMPTY;
    if (extent.getBytes() == 0) {
      return bytes;
    }
    int count = PendingTable.blocks(extent.getBytes(), extent.getBlockBytes());
    for (int number = 0; number < count; number++) {
      long left = extent.getBytes() - bytes.size();
      int expected = (int) Math.min(left, extent.getBlockBytes());
      byte[] block = blocks.apply(extent.getId(), number);
      // The last block may be longer than its published part.
      if (block == null || block.length < expected) {
        return null;
      }
      bytes = bytes.concat(ByteString.copyFrom(block, 0, expected));
    }
    return bytes;
  }
}
