package io.tensorflowignite.http;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory for bodies: of one request, and of all requests and answers together until those are
 * received.
 */
public final class BodyMemory {
  /** All bodies together may have this part of the heap: their tensors need as much again. */
  private static final int HEAP_DIVISOR = 16;

  private final long limit;
  private final long most;
  private final AtomicLong used = new AtomicLong();

  /**
   * @param limit bytes of one body
   * @param heap bytes of the heap
   */
  public BodyMemory(long limit, long heap) {
    this.limit = limit;
    this.most = Math.max(limit, heap / HEAP_DIVISOR);
  }

  long limit() {
    return limit;
  }

  /** Bytes of the bodies that are there now. */
  long used() {
    return used.get();
  }

  boolean reserve(long bytes) {
    long before = used.getAndUpdate(now -> now + bytes <= most ? now + bytes : now);
    return before + bytes <= most;
  }

  void release(long bytes) {
    used.addAndGet(-bytes);
  }

  static String tooLarge(long bytes, long limit) {
    return String.format(
        "The body of the request has %,d bytes or more. A body has at most %,d. Send fewer rows in"
            + " one request",
        bytes, limit);
  }

  String tooMany() {
    return String.format(
        "The bodies of all requests to this node, and of their answers, would have more than %,d"
            + " bytes with this one. Together they have at most that, and each text in a body"
            + " counts as an object. Send the request again later, or fewer rows in it",
        most);
  }
}
