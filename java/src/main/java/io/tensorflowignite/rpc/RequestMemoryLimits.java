package io.tensorflowignite.rpc;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;

import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.InternalStatus;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Limits the bytes of incomplete requests: of each request, by its method, and of all together.
 * gRPC has only one limit for all methods and no limit for their sum. This tracer counts bytes as
 * they arrive, and ends a call at the first byte above a limit. Of all together: batches and blocks
 * leave a quarter to other requests, and requests that have stood still lose their bytes first.
 *
 * <p>Also limits the bytes of the requests that running calls have read. A request of many small
 * fields takes up to a hundred times its bytes as objects on the heap.
 */
final class RequestMemoryLimits extends ServerStreamTracer.Factory implements ServerInterceptor {
  private static final Context.Key<Call> CURRENT = Context.key("tensorflow-ignite-request");

  private static final Set<String> BATCHES =
      Set.of(
          "arrow.flight.protocol.FlightService/DoPut",
          "arrow.flight.protocol.FlightService/DoExchange");

  /** A block of a file, at most 4 MiB, and the other fields of its request. */
  private static final long BLOCK = (4L << 20) + (64 << 10);

  /** A job's specification has at most a million bytes, a piece of code 1 MiB. */
  private static final long REQUEST = 5L << 18;

  /** All requests that running calls have read have at most 1/256 of the heap's size. */
  private static final int HEAP_DIVISOR = 256;

  private static final String PUT_BLOCKS = "tensorflow_ignite.v1.FileService/PutBlocks";

  private static final String UPLOAD_CODE = "tensorflow_ignite.v1.NodeApiService/UploadCode";

  /**
   * All incomplete requests together have at most a quarter of the heap's size. They are in direct
   * memory, whose limit in a JVM is the size of the heap. A piece of a request keeps the whole
   * buffer in which it was received.
   */
  private static final int DIRECT_DIVISOR = 4;

  /** Batches and blocks leave a quarter of the limit to other requests. */
  private static final int SMALL_DIVISOR = 4;

  /** A request loses its bytes to others if no piece of {@link #PIECE} bytes came for this time. */
  private static final long STALLED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int PIECE = 16 << 10;

  private final LongSupplier clock;
  private final RateLimitedLog log;
  private final long batch;
  private final long total;
  private final long large;
  private final long readTotal;
  private final AtomicLong incomplete = new AtomicLong();

  /** Calls whose current request has arrived in part. */
  private final Set<Call> open = ConcurrentHashMap.newKeySet();

  private final AtomicLong read = new AtomicLong();

  /**
   * @param batch limit of one record batch, in bytes
   * @param total limit of all incomplete requests together, in bytes; at most a quarter of the heap
   * @param heap the largest size of the heap, in bytes
   * @param clock nanoseconds
   */
  RequestMemoryLimits(long batch, long total, long heap, LongSupplier clock, RateLimitedLog log) {
    this.clock = clock;
    this.log = log;
    this.total = Math.min(total, heap / DIRECT_DIVISOR);
    this.large = this.total - this.total / SMALL_DIVISOR;
    this.batch = Math.min(batch, large);
    this.readTotal = Math.max(REQUEST, heap / HEAP_DIVISOR);
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return new Call(method, limit(method));
  }

  /** Calls can be reset from here on. */
  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Call limited = CURRENT.get();
    limited.context = CallReset.handle(Context.current());
    return next.startCall(limited.answeredOnce(call), headers);
  }

  /** Resets calls whose requests are stalled, the longest first, until the other requests fit. */
  private void resetStalled(long limit) {
    long now = clock.getAsLong();
    open.stream()
        .filter(call -> now - call.progressAt > STALLED_NANOS)
        .sorted(Comparator.comparingLong(call -> call.progressAt - now))
        .takeWhile(call -> incomplete.get() > limit)
        .forEach(Call::reset);
  }

  private static boolean isLarge(String method) {
    return BATCHES.contains(method) || method.equals(PUT_BLOCKS);
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
    private volatile long progressAt;
    private long sinceProgress;
    private volatile Context.CancellableContext context;
    private volatile boolean refused;

    Call(String method, long limit) {
      this.method = method;
      this.limit = limit;
    }

    @Override
    public Context filterContext(Context context) {
      return context.withValue(CURRENT, this);
    }

    @Override
    public void inboundWireSize(long bytes) {
      sinceProgress += bytes;
      if (open.add(this) || sinceProgress >= PIECE) {
        progressAt = clock.getAsLong();
        sinceProgress = 0;
      }
      long request = arrived.addAndGet(bytes);
      incomplete.addAndGet(bytes);
      if (request > limit) {
        throw refuse(
            String.format(
                "A request of %s is larger than %,d bytes. This is the limit of one request of this"
                    + " method. Split the request; for batches of rows the property"
                    + " rows.maxBatchMegabytes sets the limit, which is at most 3/16 of the heap.",
                method, limit));
      }
      long together = isLarge(method) ? large : total;
      if (incomplete.get() > together) {
        resetStalled(together);
      }
      long all = incomplete.get();
      if (all > together) {
        throw refuse(
            String.format(
                "A request of %s was cancelled: this node has %,d bytes of incomplete requests. The"
                    + " limit for all callers together is %,d bytes. Try again later, or call"
                    + " another node.",
                method, all, together));
      }
    }

    /** May run on the thread of any connection. */
    private void reset() {
      Context.CancellableContext known = context;
      if (known != null) {
        log.warning(
            String.format(
                "Reset a call of %s: less than %,d bytes of its request have arrived in %,d ms, and"
                    + " the incomplete requests of this node have %,d bytes, above their limit. The"
                    + " caller must send its request as a whole.",
                method,
                PIECE,
                TimeUnit.NANOSECONDS.toMillis(clock.getAsLong() - progressAt),
                incomplete.get()));
        release();
        CallReset.reset(known, "the rest of the request did not arrive");
      }
    }

    @Override
    public void inboundMessageRead(int sequence, long wireBytes, long bytes) {
      long request = release();
      // Of a batch, a block or a piece of code, one field has nearly all bytes.
      if (isLarge(method) || method.equals(UPLOAD_CODE)) {
        return;
      }
      long all = read.addAndGet(request - own.getAndSet(request));
      if (all > readTotal) {
        throw refuse(
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

    private RuntimeException refuse(String text) {
      release();
      releaseRead();
      refused = true;
      return withoutStackTrace(text);
    }

    /** gRPC answers a refused request itself, and a second answer would end the connection. */
    <Q, R> ServerCall<Q, R> answeredOnce(ServerCall<Q, R> call) {
      return new SimpleForwardingServerCall<Q, R>(call) {
        @Override
        public void sendHeaders(Metadata headers) {
          if (!refused) {
            super.sendHeaders(headers);
          }
        }

        @Override
        public void sendMessage(R message) {
          if (!refused) {
            super.sendMessage(message);
          }
        }

        @Override
        public void close(Status status, Metadata trailers) {
          if (!refused) {
            super.close(status, trailers);
          }
        }
      };
    }

    private long release() {
      open.remove(this);
      long request = arrived.getAndSet(0);
      incomplete.addAndGet(-request);
      return request;
    }

    private void releaseRead() {
      read.addAndGet(-own.getAndSet(0));
    }
  }

  /** gRPC logs each of these exceptions. */
  private static RuntimeException withoutStackTrace(String text) {
    TensorFlowIgniteException error =
        new TensorFlowIgniteException(ERROR_CODE_LIMIT_EXCEEDED, text);
    return InternalStatus.asRuntimeExceptionWithoutStacktrace(
        Status.RESOURCE_EXHAUSTED.withDescription(error.description()), new Metadata());
  }
}
