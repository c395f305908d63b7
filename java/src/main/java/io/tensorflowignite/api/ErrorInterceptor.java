package io.tensorflowignite.api;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.tensorflowignite.RareLog;
import org.apache.arrow.util.AutoCloseables;

/** Turns what a call throws into a status. */
final class ErrorInterceptor implements ServerInterceptor {
  private final RareLog log;

  ErrorInterceptor(RareLog log) {
    this.log = log;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    CloseOnce<Q, R> once = new CloseOnce<>(call);
    ServerCall.Listener<Q> begun;
    try {
      begun = next.startCall(once, headers);
    } catch (RuntimeException e) {
      // A method that takes a stream of messages runs, and may refuse, before the first one.
      once.fail(told(call, e));
      return new ServerCall.Listener<Q>() {};
    }
    return new SimpleForwardingServerCallListener<Q>(begun) {
      @Override
      public void onMessage(Q message) {
        // Also what is under way when a call has failed arrives.
        if (message instanceof RequestDecoding.Malformed) {
          fail(((RequestDecoding.Malformed) message).status);
        } else if (!once.failed()) {
          guard(() -> super.onMessage(message));
        } else if (message instanceof AutoCloseable) {
          // A batch, which holds memory that no collector knows.
          guard(() -> AutoCloseables.closeNoChecked((AutoCloseable) message));
        }
      }

      @Override
      public void onHalfClose() {
        if (!once.failed()) {
          guard(super::onHalfClose);
        }
      }

      @Override
      public void onReady() {
        guard(super::onReady);
      }

      private void guard(Runnable body) {
        try {
          body.run();
        } catch (RuntimeException e) {
          fail(told(call, e));
        }
      }

      private void fail(Status status) {
        // So that an upload lets go of what it has begun.
        if (once.fail(status)) {
          super.onCancel();
        }
      }
    };
  }

  /** What nobody foresaw is logged here. */
  private Status told(ServerCall<?, ?> call, RuntimeException e) {
    Status status = Statuses.of(e);
    if (status.getCode() == Status.Code.INTERNAL) {
      log.error("Call failed [method=" + call.getMethodDescriptor().getFullMethodName() + "]", e);
    }
    return status;
  }

  private static final class CloseOnce<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private boolean closed;
    private boolean failed;

    CloseOnce(ServerCall<Q, R> call) {
      super(call);
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
      if (!failed) {
        super.sendHeaders(headers);
      }
    }

    @Override
    public synchronized void sendMessage(R message) {
      if (!failed) {
        super.sendMessage(message);
      }
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (!closed) {
        closed = true;
        super.close(status, trailers);
      }
    }

    /** False when it was over already. */
    synchronized boolean fail(Status status) {
      boolean first = !closed;
      close(status, new Metadata());
      failed |= first;
      return first;
    }

    synchronized boolean failed() {
      return failed;
    }
  }
}
