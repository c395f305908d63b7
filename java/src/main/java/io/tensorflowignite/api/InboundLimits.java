package io.tensorflowignite.api;

import io.grpc.InternalStatus;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How much of requests a node holds before they are complete: of each, by its method, and of all
 * together. gRPC itself knows one limit for all methods, and gathers as much of each request at
 * once; here bytes are counted as they arrive, and a call ends with the first that is too much.
 */
final class InboundLimits extends ServerStreamTracer.Factory {
  private static final String BATCHES = "arrow.flight.protocol.FlightService/Do";

  /** A block of a file, of 4 MiB at most, and what goes with it. */
  private static final long BLOCK = (4L << 20) + (64 << 10);

  private static final long REQUEST = 4L << 20;
  private static final String PUT_BLOCKS = "tensorflow_ignite.v1.FileService/PutBlocks";

  private final long batch;
  private final long together;
  private final AtomicLong held = new AtomicLong();

  /**
   * @param batch of a record batch, in bytes
   * @param together of all requests that are not complete, in bytes
   */
  InboundLimits(long batch, long together) {
    this.batch = batch;
    this.together = together;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return new Call(method, limit(method));
  }

  private long limit(String method) {
    return method.startsWith(BATCHES) ? batch : method.equals(PUT_BLOCKS) ? BLOCK : REQUEST;
  }

  /** Bytes of requests that are not complete. */
  long held() {
    return held.get();
  }

  /** All but the end of a call comes on the thread of its connection. */
  private final class Call extends ServerStreamTracer {
    private final String method;
    private final long limit;
    private final AtomicLong arrived = new AtomicLong();

    Call(String method, long limit) {
      this.method = method;
      this.limit = limit;
    }

    @Override
    public void inboundWireSize(long bytes) {
      long now = arrived.addAndGet(bytes);
      long all = held.addAndGet(bytes);
      if (now > limit) {
        release();
        throw refused(
            String.format(
                "A request of %s is larger than %,d bytes. That is the most that a node takes of"
                    + " one. Split it; batches of rows are allowed as many as the property"
                    + " maxBatchMegabytes says.",
                method, limit));
      }
      if (all > together) {
        release();
        throw refused(
            String.format(
                "A request of %s was given up: this node holds %,d bytes of requests that are not"
                    + " complete. It takes at most %,d of all callers together. Try again later, or"
                    + " ask another node.",
                method, all, together));
      }
    }

    @Override
    public void inboundMessageRead(int sequence, long wireBytes, long bytes) {
      release();
    }

    @Override
    public void streamClosed(Status status) {
      release();
    }

    private void release() {
      held.addAndGet(-arrived.getAndSet(0));
    }
  }

  /** gRPC logs it, at each time: without a stack trace. */
  private static RuntimeException refused(String text) {
    TensorFlowIgniteException refused =
        new TensorFlowIgniteException(ErrorCode.LIMIT_EXCEEDED, text);
    return InternalStatus.asRuntimeExceptionWithoutStacktrace(
        Status.RESOURCE_EXHAUSTED.withDescription(refused.description()), new Metadata());
  }
}
