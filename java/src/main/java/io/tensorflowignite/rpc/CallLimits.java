package io.tensorflowignite.rpc;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;

import io.grpc.Attributes;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.tensorflowignite.base.IdleThreads;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Limits the number of concurrent calls and connections, and the time in which a request of one
 * message must arrive: each call may occupy a thread.
 *
 * <p>The calls of a method may be at most as many as the limit leaves free. So one method takes at
 * most half of the limit, two methods take at most two thirds, and calls of other methods remain
 * possible: watchers of a job do not keep a reader from its rows.
 */
final class CallLimits extends ServerTransportFilter implements ServerInterceptor, AutoCloseable {
  static final int MAX_CALLS = 3_000;
  static final int MAX_CONNECTIONS = 4_000;
  private static final long REQUEST_TIMEOUT_S = 20;

  private static final Attributes.Key<Boolean> COUNTED =
      Attributes.Key.create("tensorflow-ignite-counted");

  private final AtomicInteger calls = new AtomicInteger();
  private final Map<String, AtomicInteger> callsByMethod = new ConcurrentHashMap<>();
  private final AtomicInteger connections = new AtomicInteger();
  private final ScheduledThreadPoolExecutor clock =
      new ScheduledThreadPoolExecutor(1, IdleThreads.daemons("tensorflow-ignite-api-clock"));

  CallLimits() {
    clock.setRemoveOnCancelPolicy(true);
  }

  @Override
  public Attributes transportReady(Attributes attributes) {
    if (connections.incrementAndGet() > MAX_CONNECTIONS) {
      connections.decrementAndGet();
      // gRPC closes the connection.
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("This node has " + MAX_CONNECTIONS + " connections")
          .asRuntimeException();
    }
    return attributes.toBuilder().set(COUNTED, true).build();
  }

  @Override
  public void transportTerminated(Attributes attributes) {
    // gRPC also reports the end of connections that never became ready, without HTTP/2.
    if (attributes != null && attributes.get(COUNTED) != null) {
      connections.decrementAndGet();
    }
  }

  /** For short actions. */
  ScheduledExecutorService clock() {
    return clock;
  }

  int connections() {
    return connections.get();
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    String method = call.getMethodDescriptor().getFullMethodName();
    if (!begin(method)) {
      return ErrorStatuses.reject(
          call,
          ErrorStatuses.of(
              limitExceeded(
                  "This node has %,d running calls of %s. All calls together are at most %,d, and"
                      + " the calls of one method at most as many as the free ones. Try again"
                      + " later, or call another node.",
                  count(method).get(), method, MAX_CALLS)));
    }
    boolean started = false;
    try {
      ServerCall.Listener<Q> listener = next.startCall(call, headers);
      started = true;
      return new Counted<>(call, listener);
    } finally {
      if (!started) {
        end(method);
      }
    }
  }

  /** Counts a call if the limit allows it. */
  boolean begin(String method) {
    int own = count(method).incrementAndGet();
    int free = MAX_CALLS - calls.incrementAndGet();
    if (own - 1 > free) {
      end(method);
      return false;
    }
    return true;
  }

  void end(String method) {
    calls.decrementAndGet();
    count(method).decrementAndGet();
  }

  /** Only methods that exist are counted. */
  private AtomicInteger count(String method) {
    return callsByMethod.computeIfAbsent(method, name -> new AtomicInteger());
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }

  /** gRPC calls a listener's methods one after another. */
  private final class Counted<Q> extends SimpleForwardingServerCallListener<Q> {
    private final String method;
    private final ScheduledFuture<?> timeout;
    private boolean ended;

    Counted(ServerCall<Q, ?> call, ServerCall.Listener<Q> listener) {
      super(listener);
      method = call.getMethodDescriptor().getFullMethodName();
      boolean single = call.getMethodDescriptor().getType().clientSendsOneMessage();
      timeout =
          single ? clock.schedule(() -> timeOut(call), REQUEST_TIMEOUT_S, TimeUnit.SECONDS) : null;
    }

    private void timeOut(ServerCall<?, ?> call) {
      call.close(
          ErrorStatuses.of(
              limitExceeded(
                  "A request of %s was not complete after %d s. A request of one message must"
                      + " arrive within this time. Send the whole message at once.",
                  call.getMethodDescriptor().getFullMethodName(), REQUEST_TIMEOUT_S)),
          new Metadata());
    }

    @Override
    public void onHalfClose() {
      cancelTimeout();
      super.onHalfClose();
    }

    @Override
    public void onCancel() {
      end();
      super.onCancel();
    }

    @Override
    public void onComplete() {
      end();
      super.onComplete();
    }

    private void cancelTimeout() {
      if (timeout != null) {
        timeout.cancel(false);
      }
    }

    private void end() {
      cancelTimeout();
      if (!ended) {
        ended = true;
        CallLimits.this.end(method);
      }
    }
  }
}
