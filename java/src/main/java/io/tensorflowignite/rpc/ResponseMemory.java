package io.tensorflowignite.rpc;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;

import com.google.protobuf.MessageLite;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Limits the memory of all responses that wait for their receivers: gRPC keeps a message until its
 * receiver takes it.
 *
 * <p>A call that sends blocks of files requests memory first ({@link OpenCall#admit}). While there
 * is no memory, it waits without a thread. The call whose connection has the least memory gets
 * memory first, and a connection may have at most as much memory as is left for the others. Other
 * responses are counted when they are sent. While there is no memory, the calls that have waited
 * longest for their receivers are reset, first on the connection with the most memory. So a caller
 * that does not read delays others by at most 1 s.
 */
public final class ResponseMemory implements ServerInterceptor {
  private static final Context.Key<OpenCall> CURRENT = Context.key("tensorflow-ignite-response");

  /** Waiting responses have at most 1/4 of the heap. */
  static final int HEAP_DIVISOR = 4;

  /** If a receiver takes nothing for this time, its call may be reset in favour of others. */
  static final long STALLED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long LOOK_MS = 200;

  private final long limit;
  private final Executor threads;
  private final ScheduledExecutorService clock;
  private final RateLimitedLog log;

  /** Calls with a waiting response; the one that has waited longest is first. */
  private final Set<OpenCall> waiting = new LinkedHashSet<>();

  /** Calls that have requested memory, in the order of their requests. */
  private final Set<OpenCall> asking = new LinkedHashSet<>();

  private long total;
  private boolean looks;

  /**
   * @param heap the largest size of the heap, in bytes
   * @param threads run the actions of calls that have got their memory
   */
  ResponseMemory(long heap, Executor threads, ScheduledExecutorService clock, RateLimitedLog log) {
    this.limit = heap / HEAP_DIVISOR;
    this.threads = threads;
    this.clock = clock;
    this.log = log;
  }

  /** The current call; null outside of calls. */
  static OpenCall current() {
    return CURRENT.get();
  }

  /**
   * Counts the bytes of objects on the heap that the current call keeps for its response, until its
   * end.
   *
   * @throws TensorFlowIgniteException LIMIT_EXCEEDED: the bytes exceed the limit of all responses
   */
  public static void keep(long bytes) {
    OpenCall call = current();
    if (call != null) {
      call.keep(bytes);
    }
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    OpenCall own =
        new OpenCall(
            call.getMethodDescriptor().getFullMethodName(),
            ConnectionTracker.of(call.getAttributes()),
            CallReset.handle(Context.current()));
    boolean single = call.getMethodDescriptor().getType().serverSendsOneMessage();
    ServerCall<Q, R> counted =
        new SimpleForwardingServerCall<Q, R>(call) {
          @Override
          public void sendMessage(R message) {
            own.sends(
                message instanceof MessageLite ? ((MessageLite) message).getSerializedSize() : 0);
            super.sendMessage(message);
            // gRPC sends a single response with the call's end.
            if (!single && isReady()) {
              own.received();
            }
          }
        };
    return new SimpleForwardingServerCallListener<Q>(
        Contexts.interceptCall(Context.current().withValue(CURRENT, own), counted, headers, next)) {
      @Override
      public void onReady() {
        own.received();
        super.onReady();
      }

      @Override
      public void onComplete() {
        own.end();
        super.onComplete();
      }

      @Override
      public void onCancel() {
        own.end();
        super.onCancel();
      }
    };
  }

  synchronized long total() {
    return total;
  }

  /** One call with its memory. */
  final class OpenCall {
    private final String method;
    private final ConnectionTracker.Connection connection;
    private final Context.CancellableContext context;

    /** Reserved bytes for the message that is being built; the message may be smaller. */
    private long admitted;

    /** Bytes of messages that the receiver has not taken. */
    private long sent;

    private long kept;
    private long since;
    private boolean ended;
    private long asked;
    private Runnable resume;

    OpenCall(
        String method,
        ConnectionTracker.Connection connection,
        Context.CancellableContext context) {
      this.method = method;
      this.connection = connection;
      this.context = context;
    }

    /**
     * Reserves memory for the next message. False: the action runs later, when the memory is
     * reserved.
     */
    boolean admit(long bytes, Runnable later) {
      synchronized (ResponseMemory.this) {
        if (ended) {
          return true;
        }
        asked = bytes;
        resume = null;
        asking.add(this);
        admitWaiting();
        if (!asking.contains(this)) {
          return true;
        }
        resume = later;
        look();
        return false;
      }
    }

    /**
     * Releases the reserved memory: the message was sent and is counted, or there is no message.
     */
    void releaseAdmitted() {
      synchronized (ResponseMemory.this) {
        add(-admitted);
        admitted = 0;
        admitWaiting();
      }
    }

    void sends(long bytes) {
      List<OpenCall> stalled;
      synchronized (ResponseMemory.this) {
        if (ended || bytes == 0) {
          return;
        }
        sent += bytes;
        waits();
        add(bytes);
        stalled = overLimit();
      }
      stalled.forEach(OpenCall::reset);
    }

    void keep(long bytes) {
      if (bytes > highest()) {
        // An error instead of a reset, which has no text: a further call would fail again.
        throw limitExceeded(
            "The response of %s would take %,d bytes of the node's heap. All responses that wait"
                + " may take %,d bytes, which are three eighths of the heap. Ask for less, such as"
                + " a directory with fewer entries, or give the nodes a larger heap (-Xmx).",
            method, bytes, highest());
      }
      List<OpenCall> stalled;
      synchronized (ResponseMemory.this) {
        if (ended) {
          return;
        }
        kept += bytes;
        waits();
        add(bytes);
        stalled = overLimit();
      }
      stalled.forEach(OpenCall::reset);
    }

    private void waits() {
      if (waiting.add(this)) {
        since = System.nanoTime();
      }
    }

    void received() {
      synchronized (ResponseMemory.this) {
        if (sent == 0) {
          return;
        }
        add(-sent);
        sent = 0;
        waiting.remove(this);
        if (kept > 0) {
          waits();
        }
        admitWaiting();
      }
    }

    void end() {
      synchronized (ResponseMemory.this) {
        ended = true;
        add(-admitted - sent - kept);
        admitted = 0;
        sent = 0;
        kept = 0;
        waiting.remove(this);
        asking.remove(this);
        admitWaiting();
      }
    }

    private void add(long bytes) {
      total += bytes;
      connection.responseBytes += bytes;
    }

    private void reset() {
      log.warning(
          String.format(
              "Reset a call of %s: its receiver has not taken the response for %,d ms, and the"
                  + " responses that wait have %,d bytes, which is the limit. The caller must read"
                  + " its responses, or cancel its calls.",
              method, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since), limit));
      CallReset.reset(context, "the response was not read");
    }
  }

  /** Admits waiting calls while there is memory. */
  private void admitWaiting() {
    OpenCall next = next();
    while (next != null && (fits(next) || total == 0)) {
      asking.remove(next);
      next.admitted = next.asked;
      next.add(next.admitted);
      if (next.resume != null) {
        threads.execute(next.resume);
      }
      next = next();
    }
  }

  /**
   * Whether a call may get memory. A connection may have at most as much memory as is left for all
   * others, so that some is left for connections with less. Switches that share a buffer use the
   * same dynamic thresholds (Choudhury and Hahne, 1998).
   */
  private boolean fits(OpenCall call) {
    return call.connection.responseBytes + call.asked <= limit - total;
  }

  /**
   * The waiting call whose connection has the least memory; among equal connections the first
   * request. Null: no call waits.
   */
  private OpenCall next() {
    OpenCall found = null;
    for (OpenCall call : asking) {
      if (found == null || call.connection.responseBytes < found.connection.responseBytes) {
        found = call;
      }
    }
    return found;
  }

  /**
   * The calls to reset after a response without a reservation: these may exceed the limit by half.
   */
  private List<OpenCall> overLimit() {
    List<OpenCall> found = new ArrayList<>();
    while (total > highest() && !waiting.isEmpty()) {
      found.add(removed(longest(0)));
    }
    if (total > limit) {
      look();
    }
    return found;
  }

  private long highest() {
    return limit + limit / 2;
  }

  private void look() {
    if (!looks) {
      looks = true;
      clock.schedule(this::makeRoom, LOOK_MS, TimeUnit.MILLISECONDS);
    }
  }

  private void makeRoom() {
    List<OpenCall> found = new ArrayList<>();
    synchronized (this) {
      looks = false;
      OpenCall stalled = longest(STALLED_NANOS);
      while (stalled != null && (total > limit || isLessThan(next(), stalled))) {
        found.add(removed(stalled));
        stalled = longest(STALLED_NANOS);
      }
      if (!asking.isEmpty() || total > limit) {
        look();
      }
    }
    found.forEach(OpenCall::reset);
  }

  private static boolean isLessThan(OpenCall asking, OpenCall stalled) {
    return asking != null
        && asking.connection.responseBytes + asking.asked <= stalled.connection.responseBytes;
  }

  /** The call that waits longest on the connection with the most memory; null: there is none. */
  private OpenCall longest(long minNanos) {
    long now = System.nanoTime();
    OpenCall found = null;
    for (OpenCall call : waiting) {
      if (now - call.since < minNanos) {
        break;
      }
      if (found == null || call.connection.responseBytes > found.connection.responseBytes) {
        found = call;
      }
    }
    return found;
  }

  private OpenCall removed(OpenCall call) {
    call.end();
    return call;
  }
}
