package io.tensorflowignite.rpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.tensorflowignite.base.RateLimitedLog;

/** Turns exceptions of calls into statuses. */
final class ErrorInterceptor implements ServerInterceptor {
  private final RateLimitedLog log;

  ErrorInterceptor(RateLimitedLog log) {
    this.log = log;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    CloseOnce<Q, R> once = new CloseOnce<>(call);
    ServerCall.Listener<Q> listener;
    try {
      listener = next.startCall(once, headers);
    } catch (RuntimeException e) {
      // A method with a stream of requests runs, and may throw, before the first request.
      once.fail(statusOf(call, e));
      return new ServerCall.Listener<Q>() {};
    }
    return new SimpleForwardingServerCallListener<Q>(listener) {
      @Override
      public void onMessage(Q message) {
        // Messages on their way still arrive after a call has failed.
        if (message instanceof MalformedRequests.Malformed) {
          fail(((MalformedRequests.Malformed) message).status);
        } else if (!once.failed()) {
          guard(() -> super.onMessage(message));
        } else if (message instanceof AutoCloseable) {
          // A batch holds memory outside the heap.
          guard(((AutoCloseable) message)::close);
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

      private void guard(Step step) {
        try {
          step.run();
        } catch (RuntimeException e) {
          fail(statusOf(call, e));
        } catch (Exception e) {
          fail(statusOf(call, new IllegalStateException(e)));
        }
      }

      private void fail(Status status) {
        // So that an upload releases its resources.
        if (once.fail(status)) {
          super.onCancel();
        }
      }
    };
  }

  /** Logs unexpected exceptions. */
  private Status statusOf(ServerCall<?, ?> call, RuntimeException e) {
    Status status = ErrorStatuses.of(e);
    if (status.getCode() == Status.Code.INTERNAL) {
      log.error("Call failed [method=" + call.getMethodDescriptor().getFullMethodName() + "]", e);
    }
    return status;
  }

  private interface Step {
    void run() throws Exception;
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

    /** False: the call was closed already. */
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
