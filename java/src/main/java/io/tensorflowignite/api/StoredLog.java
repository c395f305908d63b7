package io.tensorflowignite.api;

import com.google.common.io.ByteStreams;
import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.LogChunk;
import java.io.IOException;
import java.io.InputStream;

/** The output of one task in a file, cut into pieces that end at line ends where they can. */
final class StoredLog {
  private static final int PIECE_BYTES = 64 << 10;

  private final InputStream file;
  private final LogChunk gap;
  private final byte[] window = new byte[PIECE_BYTES];
  private int filled;
  private boolean ended;
  private long position;

  /**
   * @param gap where output was dropped, and how much; null: nowhere.
   * @param position bytes of the file that are not wanted any more.
   */
  StoredLog(InputStream file, LogChunk gap, long position) throws IOException {
    this.file = file;
    this.gap = gap;
    this.position = position;
    ByteStreams.skipFully(file, position);
  }

  /** The next piece as a chunk without a number; null at the end. */
  LogChunk next() throws IOException {
    while (!ended && filled < window.length) {
      int count = file.read(window, filled, window.length - filled);
      ended = count < 0;
      filled += Math.max(count, 0);
    }
    if (filled == 0) {
      return null;
    }
    int length = lengthOfPiece();
    LogChunk piece =
        LogChunk.newBuilder()
            .setData(ByteString.copyFrom(window, 0, length))
            .setDroppedBytes(
                gap != null && gap.getSequence() == position ? gap.getDroppedBytes() : 0)
            .build();
    System.arraycopy(window, length, window, 0, filled - length);
    filled -= length;
    position += length;
    return piece;
  }

  /** What lies before the gap and what lies behind it are of different pieces. */
  private int lengthOfPiece() {
    long untilGap = gap == null ? -1 : gap.getSequence() - position;
    int limit = untilGap > 0 && untilGap < filled ? (int) untilGap : filled;
    if (limit == filled && !ended) {
      for (int i = limit; i > 0; i--) {
        if (window[i - 1] == '\n') {
          return i;
        }
      }
    }
    return limit;
  }
}
