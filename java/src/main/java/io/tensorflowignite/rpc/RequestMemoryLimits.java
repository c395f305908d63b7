package io.tensorflowignite.rpc;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;

import io.grpc.InternalStatus;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the bytes of incomplete requests: of each request, by its method, and of all together.
 * gRPC has only one limit for all methods and no limit for their sum. This tracer counts bytes as
 * they arrive, and ends a call at the first byte above a limit.
 */
final class RequestMemoryLimits extends ServerStreamTracer.Factory {
  private static final Set<String> BATCHES =
      Set.of(
          "arrow.flight.protocol.FlightService/DoPut",
          "arrow.flight.protocol.FlightService/DoExchange");

  /** A block of a file, at most 4 MiB, and the other fields of its request. */
  private static final long BLOCK = (4L << 20) + (64 << 10);

  private static final long REQUEST = 4L << 20;
  private static final String PUT_BLOCKS = "tensorflow_ignite.v1.FileService/PutBlocks";

  private final long batch;
  private final long total;
  private final AtomicLong incomplete = new AtomicLong();

  /**
   * @param batch limit of one record batch, in bytes
   * @param total limit of all incomplete requests together, in bytes
   */
  RequestMemoryLimits(long batch, long total) {
    this.batch = batch;
    this.total = total;
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return new Call(method, limit(method));
  }

  private long limit(String method) {
    return BATCHES.contains(method) ? batch : method.equals(PUT_BLOCKS) ? BLOCK : REQUEST;
  }

  /** gRPC calls all methods but streamClosed on the connection's thread. */
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
      long own = arrived.addAndGet(bytes);
      long all = incomplete.addAndGet(bytes);
      if (own > limit) {
        release();
        throw limitExceeded(
            String.format(
                "A request of %s is larger than %,d bytes. This is the limit of one request of this"
                    + " method. Split the request; for batches of rows the property"
                    + " maxBatchMegabytes sets the limit.",
                method, limit));
      }
      if (all > total) {
        release();
        throw limitExceeded(
            String.format(
                "A request of %s was cancelled: this node has %,d bytes of incomplete requests. The"
                    + " limit for all callers together is %,d bytes. Try again later, or call"
                    + " another node.",
                method, all, total));
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
      incomplete.addAndGet(-arrived.getAndSet(0));
    }
  }

  /** Without a stack trace, since gRPC logs each of these exceptions. */
  private static RuntimeException limitExceeded(String text) {
    TensorFlowIgniteException error =
        new TensorFlowIgniteException(ERROR_CODE_LIMIT_EXCEEDED, text);
    return InternalStatus.asRuntimeExceptionWithoutStacktrace(
        Status.RESOURCE_EXHAUSTED.withDescription(error.description()), new Metadata());
  }
}
