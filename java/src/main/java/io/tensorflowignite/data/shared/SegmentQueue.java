package io.tensorflowignite.data.shared;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.read.ReadTurns;
import io.tensorflowignite.v1.Segment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * The segments that a reader offers to one call. Events of the call add offers; the thread that
 * reads rows takes, maps and closes segments. The sizes come from the mapped memory, since a
 * reader's statement may be false.
 */
public final class SegmentQueue implements AutoCloseable {
  private static final int MAX_WAITING = 1_024;

  private static final int MAX_MAPPED = 64;
  private static final long MAX_MAPPED_BYTES = 8L << 30;

  private final int pid;
  private final byte[] nonce;
  private final Deque<Segment> waiting = new ArrayDeque<>();
  private final Map<Integer, MappedSegment> mapped = new HashMap<>();
  private boolean abandoned;
  private boolean ended;

  public SegmentQueue(int pid, byte[] nonce) {
    this.pid = pid;
    this.nonce = nonce;
  }

  public synchronized void add(Segment offer) {
    if (waiting.size() == MAX_WAITING) {
      throw tooMany("offers " + (MAX_WAITING + 1) + " segments that are not used yet");
    }
    waiting.add(offer);
    notifyAll();
  }

  /** The reader offers no further segment. */
  public synchronized void end() {
    ended = true;
    notifyAll();
  }

  /** The reader has disconnected. */
  public synchronized void abandon() {
    abandoned = true;
    notifyAll();
  }

  synchronized boolean isAbandoned() {
    return abandoned;
  }

  /**
   * Waits for a segment of at least {@code bytes}, and closes smaller ones.
   *
   * @throws ReaderDisconnected the reader has disconnected
   */
  MappedSegment take(long bytes) throws InterruptedException {
    while (true) {
      Segment offer = ReadTurns.pause(this::await);
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
          "offers "
              + (mapped.size() + 1)
              + " segments of "
              + (bytes + offer.getBytes())
              + " bytes to map");
    }
    MappedSegment segment = MappedSegment.open(pid, nonce, offer);
    mapped.put(offer.getId(), segment);
    return segment;
  }

  /** Rejects another size for a known segment: the node would write beyond the mapped memory. */
  private static MappedSegment same(MappedSegment known, Segment offer) {
    if (known.bytes() != offer.getBytes()) {
      throw invalidRequest(
          "the reader offers segment %d with %d bytes, but has offered it with %d bytes before; a"
              + " segment's number always names the same memory; give other memory another number",
          offer.getId(), offer.getBytes(), known.bytes());
    }
    return known;
  }

  private static TensorFlowIgniteException tooMany(String problem) {
    return limitExceeded(
        "the reader %s; a call may have %d waiting segments, and %d mapped ones of %d bytes"
            + " together; offer each segment again when it is free",
        problem, MAX_WAITING, MAX_MAPPED, MAX_MAPPED_BYTES);
  }

  /** To be called when the segment's batch has been sent, or will not be sent. */
  void release(MappedSegment segment) {
    mapped.remove(segment.id);
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
      throw new ReaderDisconnected();
    }
    if (waiting.isEmpty()) {
      throw invalidRequest(
          "the reader offers no more segments, but there are rows to send; a reader must offer free"
              + " segments until the result arrives; read again");
    }
    return waiting.remove();
  }

  /** Ends a call without an answer, since its reader has disconnected. */
  public static final class ReaderDisconnected extends RuntimeException {
    ReaderDisconnected() {
      super("the reader has disconnected", null, false, false);
    }
  }
}
