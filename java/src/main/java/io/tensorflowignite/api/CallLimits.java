package io.tensorflowignite.api;

import io.grpc.Attributes;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many calls and connections a node has at once, and how long a request of one message may take
 * to arrive: each call may hold a thread.
 */
final class CallLimits extends ServerTransportFilter implements ServerInterceptor, AutoCloseable {
  static final int MAX_CALLS = 2_000;
  static final int MAX_CONNECTIONS = 4_000;
  private static final long ARRIVAL_S = 20;

  private static final Attributes.Key<Boolean> COUNTED =
      Attributes.Key.create("tensorflow-ignite-counted");

  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger connections = new AtomicInteger();
  private final ScheduledThreadPoolExecutor clock =
      new ScheduledThreadPoolExecutor(
          1,
          body -> {
            Thread thread = new Thread(body, "tensorflow-ignite-api-clock");
            thread.setDaemon(true);
            return thread;
          });

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
    // Also one ends that never was ready: who connects need not say anything, or no HTTP/2.
    if (attributes != null && attributes.get(COUNTED) != null) {
      connections.decrementAndGet();
    }
  }

  int connections() {
    return connections.get();
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    if (calls.incrementAndGet() > MAX_CALLS) {
      calls.decrementAndGet();
      return refuse(
          call,
          String.format(
              "This node has %,d calls under way. It takes no more at once. Try again later, or"
                  + " ask another node.",
              MAX_CALLS));
    }
    boolean begun = false;
    try {
      ServerCall.Listener<Q> listener = next.startCall(call, headers);
      begun = true;
      return new Counted<>(call, listener);
    } finally {
      if (!begun) {
        calls.decrementAndGet();
      }
    }
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }

  private static <Q, R> ServerCall.Listener<Q> refuse(ServerCall<Q, R> call, String text) {
    call.close(status(text), new Metadata());
    return new ServerCall.Listener<Q>() {};
  }

  private static Status status(String text) {
    return Statuses.of(new TensorFlowIgniteException(ErrorCode.LIMIT_EXCEEDED, text));
  }

  /** Its events come one after another. */
  private final class Counted<Q> extends SimpleForwardingServerCallListener<Q> {
    private final ScheduledFuture<?> late;
    private boolean over;

    Counted(ServerCall<Q, ?> call, ServerCall.Listener<Q> listener) {
      super(listener);
      boolean single = call.getMethodDescriptor().getType().clientSendsOneMessage();
      late = single ? clock.schedule(() -> giveUp(call), ARRIVAL_S, TimeUnit.SECONDS) : null;
    }

    private void giveUp(ServerCall<?, ?> call) {
      call.close(
          status(
              String.format(
                  "A request of %s was not complete after %d s. It is one message, which comes at"
                      + " once. Send it whole.",
                  call.getMethodDescriptor().getFullMethodName(), ARRIVAL_S)),
          new Metadata());
    }

    @Override
    public void onHalfClose() {
      arrived();
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

    private void arrived() {
      if (late != null) {
        late.cancel(false);
      }
    }

    private void end() {
      arrived();
      if (!over) {
        over = true;
        calls.decrementAndGet();
      }
    }
  }
}
