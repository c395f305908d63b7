package io.tensorflowignite.data.shared;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.Segment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * The segments that a reader lends to one call. The call's events bring offers; the thread that
 * reads rows takes, maps and closes.
 */
final class SegmentOffers implements AutoCloseable {
  private final int pid;
  private final byte[] nonce;
  private final Deque<Segment> waiting = new ArrayDeque<>();
  private final Map<Integer, MappedSegment> mapped = new HashMap<>();
  private boolean abandoned;
  private boolean ended;

  SegmentOffers(int pid, byte[] nonce) {
    this.pid = pid;
    this.nonce = nonce;
  }

  synchronized void add(Segment offer) {
    waiting.add(offer);
    notifyAll();
  }

  /** No offer comes any more. */
  synchronized void end() {
    ended = true;
    notifyAll();
  }

  /** The reader is gone. */
  synchronized void abandon() {
    abandoned = true;
    notifyAll();
  }

  synchronized boolean isAbandoned() {
    return abandoned;
  }

  /**
   * Waits for a segment of at least so many bytes; lets go of smaller ones.
   *
   * @throws ReaderGone when nobody wants rows any more
   */
  MappedSegment take(long bytes) throws InterruptedException {
    while (true) {
      Segment offer = await();
      if (offer.getBytes() >= bytes) {
        MappedSegment known = mapped.get(offer.getId());
        if (known != null) {
          return known;
        }
        MappedSegment segment = MappedSegment.open(pid, nonce, offer);
        mapped.put(offer.getId(), segment);
        return segment;
      }
      MappedSegment small = mapped.remove(offer.getId());
      if (small != null) {
        small.close();
      }
    }
  }

  /** To be called when its batch has been announced, or is not going to be. */
  void release(MappedSegment segment) {
    mapped.remove(segment.id());
    segment.close();
  }

  /** Unmaps everything. */
  @Override
  public void close() {
    mapped.values().forEach(MappedSegment::close);
    mapped.clear();
  }

  private synchronized Segment await() throws InterruptedException {
    while (waiting.isEmpty() && !abandoned && !ended) {
      wait();
    }
    if (abandoned) {
      throw new ReaderGone();
    }
    if (waiting.isEmpty()) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          "the reader offers no more segments while there are rows to send; it offers segments"
              + " again as they become free, until the result has come; read again");
    }
    return waiting.remove();
  }

  /** Nobody is there to be told of this one. */
  static final class ReaderGone extends RuntimeException {
    ReaderGone() {
      super("the reader is gone", null, false, false);
    }
  }
}
