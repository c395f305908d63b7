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
 * reads rows takes, maps and closes. What the reader says of its memory is not relied upon: what
 * counts is what was mapped.
 */
final class SegmentOffers implements AutoCloseable {
  /** Readers offer a handful. */
  private static final int MAX_WAITING = 1_024;

  private static final int MAX_MAPPED = 64;
  private static final long MAX_MAPPED_BYTES = 8L << 30;

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
    if (waiting.size() == MAX_WAITING) {
      throw tooMany("offers " + (MAX_WAITING + 1) + " segments that are not used yet");
    }
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
        return known == null ? map(offer) : same(known, offer);
      }
      MappedSegment small = mapped.remove(offer.getId());
      if (small != null) {
        small.close();
      }
    }
  }

  private MappedSegment map(Segment offer) {
    long bytes = mapped.values().stream().mapToLong(MappedSegment::bytes).sum();
    if (mapped.size() == MAX_MAPPED || bytes + offer.getBytes() > MAX_MAPPED_BYTES) {
      throw tooMany(
          "lends " + (mapped.size() + 1) + " segments of " + (bytes + offer.getBytes()) + " bytes");
    }
    MappedSegment segment = MappedSegment.open(pid, nonce, offer);
    mapped.put(offer.getId(), segment);
    return segment;
  }

  /** A segment that was said to be larger than it is would be written beyond its end. */
  private static MappedSegment same(MappedSegment known, Segment offer) {
    if (known.bytes() != offer.getBytes()) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST,
          String.format(
              "the reader offers segment %d with %d bytes, and has offered it with %d before; a"
                  + " number that is offered again is the same memory; give other memory another"
                  + " number",
              offer.getId(), offer.getBytes(), known.bytes()));
    }
    return known;
  }

  private static TensorFlowIgniteException tooMany(String what) {
    return new TensorFlowIgniteException(
        ErrorCode.LIMIT_EXCEEDED,
        String.format(
            "the reader %s; a call has at most %d waiting, and %d with %d bytes in all that are"
                + " mapped; offer segments as they become free",
            what, MAX_WAITING, MAX_MAPPED, MAX_MAPPED_BYTES));
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
