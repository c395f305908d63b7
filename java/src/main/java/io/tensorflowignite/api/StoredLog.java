package io.tensorflowignite.api;

import com.google.protobuf.ByteString;
import io.tensorflowignite.v1.LogChunk;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The output of one task in a file, cut into pieces that end at line ends if possible. */
final class StoredLog {
  private static final int PIECE_BYTES = 64 << 10;

  private final InputStream file;
  private final Deque<LogChunk> gaps = new ArrayDeque<>();
  private final byte[] window = new byte[PIECE_BYTES];
  private int filled;
  private boolean ended;
  private long position;

  /**
   * @param gaps the positions in the file and the sizes of dropped output.
   * @param sent the number of bytes to skip, dropped ones included.
   */
  StoredLog(InputStream file, List<LogChunk> gaps, long sent) throws IOException {
    this.file = file;
    long skipped = 0;
    for (LogChunk gap : gaps) {
      long left = gap.getSequence() + skipped + gap.getDroppedBytes() - sent;
      long rest = Math.min(left, gap.getDroppedBytes());
      if (rest > 0) {
        this.gaps.add(gap.toBuilder().setDroppedBytes(rest).build());
      }
      skipped += gap.getDroppedBytes() - Math.max(0, rest);
    }
    this.position = sent - skipped;
    // Guava's skipFully would read what it skips.
    if (file.skip(position) < position) {
      throw new EOFException("The file ends before byte " + position);
    }
  }

  /** The next piece as a chunk without a number; null at the end. */
  LogChunk next() throws IOException {
    while (!ended && filled < window.length) {
      int count = file.read(window, filled, window.length - filled);
      ended = count < 0;
      filled += Math.max(count, 0);
    }
    long dropped = dropped();
    if (filled == 0 && dropped == 0) {
      return null;
    }
    int length = lengthOfPiece();
    LogChunk piece =
        LogChunk.newBuilder()
            .setData(ByteString.copyFrom(window, 0, length))
            .setDroppedBytes(dropped)
            .build();
    System.arraycopy(window, length, window, 0, filled - length);
    filled -= length;
    position += length;
    return piece;
  }

  /** The size of the gap at this position, which is passed now. */
  private long dropped() {
    boolean here = !gaps.isEmpty() && gaps.peek().getSequence() == position;
    return here ? gaps.remove().getDroppedBytes() : 0;
  }

  /** The length of the next piece, which ends at the gap at the latest. */
  private int lengthOfPiece() {
    long untilGap = gaps.isEmpty() ? -1 : gaps.peek().getSequence() - position;
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
