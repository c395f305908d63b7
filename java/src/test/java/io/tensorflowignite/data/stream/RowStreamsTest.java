package io.tensorflowignite.data.stream;

import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class RowStreamsTest {
  private static final long MEMORY = 4L << 30;
  private static final int STREAMS = 1_000;

  /** What a batch takes at most, since its buffers grow by doubling. */
  private static final int GROWTH = 2;

  @Test
  public void aThousandStreamsThatNobodyReadsLeaveMemoryForAnother() {
    long free = MEMORY;
    for (int streams = 1; streams <= STREAMS; streams++) {
      // One batch waits for the reader, and the next one is built.
      free -= GROWTH * RowStreams.share(free, streams);
      free -= GROWTH * RowStreams.share(free, streams);
    }
    long batch = RowStreams.share(free, STREAMS + 1);
    assertTrue("a batch of " + batch + " bytes", batch >= 8 << 10);
    assertTrue("free: " + free, free >= 32 << 20);
    assertTrue("a stream by itself", RowStreams.share(MEMORY, 1) >= 32 << 20);
  }
}
