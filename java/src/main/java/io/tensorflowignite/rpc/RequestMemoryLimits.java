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
 *
 * <p>Also limits the bytes of the requests that running calls have read. A request of many small
 * fields takes up to a hundred times its bytes as objects on the heap.
 */
final class RequestMemoryLimits extends ServerStreamTracer.Factory {
  private static final Set<String> BATCHES =
      Set.of(
          "arrow.flight.protocol.FlightService/DoPut",
          "arrow.flight.protocol.FlightService/DoExchange");

  /** A block of a file, at most 4 MiB, and the other fields of its request. */
  private static final long BLOCK = (4L << 20) + (64 << 10);

  /** A job's specification has at most a million bytes, a piece of code 1 MiB. */
  private static final long REQUEST = 5L << 18;

  /** All requests that running calls have read have at most this part of the heap, in bytes. */
  private static final int HEAP_DIVISOR = 256;

  private static final String PUT_BLOCKS = "tensorflow_ignite.v1.FileService/PutBlocks";

  private static final String UPLOAD_CODE = "tensorflow_ignite.v1.NodeApiService/UploadCode";

  private final long batch;
  private final long total;
  private final long readTotal;
  private final AtomicLong incomplete = new AtomicLong();
  private final AtomicLong read = new AtomicLong();

  /**
   * @param batch limit of one record batch, in bytes
   * @param total limit of all incomplete requests together, in bytes
   * @param heap the largest size of the heap, in bytes
   */
  RequestMemoryLimits(long batch, long total, long heap) {
    this.batch = batch;
    this.total = total;
    this.readTotal = Math.max(REQUEST, heap / HEAP_DIVISOR);
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
    private final AtomicLong own = new AtomicLong();

    Call(String method, long limit) {
      this.method = method;
      this.limit = limit;
    }

    @Override
    public void inboundWireSize(long bytes) {
      long request = arrived.addAndGet(bytes);
      long all = incomplete.addAndGet(bytes);
      if (request > limit) {
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
      long request = release();
      // Of a batch, a block or a piece of code, one field has nearly all bytes.
      if (BATCHES.contains(method) || method.equals(PUT_BLOCKS) || method.equals(UPLOAD_CODE)) {
        return;
      }
      long all = read.addAndGet(request - own.getAndSet(request));
      if (all > readTotal) {
        releaseRead();
        throw limitExceeded(
            String.format(
                "A request of %s with %,d bytes was refused: the running calls of this node have"
                    + " requests of %,d bytes. The limit for all callers together is %,d bytes, a"
                    + " part of the heap. Try again later, or call another node.",
                method, request, all, readTotal));
      }
    }

    @Override
    public void streamClosed(Status status) {
      release();
      releaseRead();
    }

    private long release() {
      long request = arrived.getAndSet(0);
      incomplete.addAndGet(-request);
      return request;
    }

    private void releaseRead() {
      read.addAndGet(-own.getAndSet(0));
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
