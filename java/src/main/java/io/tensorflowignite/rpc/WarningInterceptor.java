package io.tensorflowignite.rpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;

/** Adds warnings about this node to every answer: a text in a header. */
public final class WarningInterceptor implements ServerInterceptor {
  private static final Metadata.Key<byte[]> KEY =
      Metadata.Key.of("tensorflow-ignite-warning-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final Supplier<Optional<String>> warning;

  /**
   * @param warning called for each call; must return at once
   */
  public WarningInterceptor(Supplier<Optional<String>> warning) {
    this.warning = warning;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Optional<String> text = warning.get();
    if (text.isEmpty()) {
      return next.startCall(call, headers);
    }
    byte[] value = text.get().getBytes(StandardCharsets.UTF_8);
    return next.startCall(
        new SimpleForwardingServerCall<Q, R>(call) {
          private boolean sent;

          @Override
          public void sendHeaders(Metadata sentHeaders) {
            sent = true;
            sentHeaders.put(KEY, value);
            super.sendHeaders(sentHeaders);
          }

          @Override
          public void close(Status status, Metadata trailers) {
            // A call that fails at once has no other header.
            if (!sent) {
              trailers.put(KEY, value);
            }
            super.close(status, trailers);
          }
        },
        headers);
  }
}
