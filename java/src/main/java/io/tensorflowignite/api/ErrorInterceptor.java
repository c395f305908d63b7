package io.tensorflowignite.api;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import org.apache.ignite.IgniteLogger;

/** Turns what a call throws into a status. */
final class ErrorInterceptor implements ServerInterceptor {
  private final IgniteLogger log;

  ErrorInterceptor(IgniteLogger log) {
    this.log = log;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    CloseOnce<Q, R> once = new CloseOnce<>(call);
    return new SimpleForwardingServerCallListener<Q>(next.startCall(once, headers)) {
      @Override
      public void onMessage(Q message) {
        guard(() -> super.onMessage(message));
      }

      @Override
      public void onHalfClose() {
        guard(super::onHalfClose);
      }

      @Override
      public void onReady() {
        guard(super::onReady);
      }

      private void guard(Runnable body) {
        try {
          body.run();
        } catch (RuntimeException e) {
          Status status = Statuses.of(e);
          if (status.getCode() == Status.Code.INTERNAL) {
            log.error(
                "Call failed [method=" + call.getMethodDescriptor().getFullMethodName() + "]", e);
          }
          once.close(status, new Metadata());
        }
      }
    };
  }

  private static final class CloseOnce<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private boolean closed;

    CloseOnce(ServerCall<Q, R> call) {
      super(call);
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (!closed) {
        closed = true;
        super.close(status, trailers);
      }
    }
  }
}
