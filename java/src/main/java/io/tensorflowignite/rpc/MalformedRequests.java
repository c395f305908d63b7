package io.tensorflowignite.rpc;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
import java.io.InputStream;

/**
 * Passes a request that cannot be parsed to {@link ErrorInterceptor} as {@link Malformed}. An
 * exception of a marshaller would end the call with UNKNOWN, without a reason, and log a stack
 * trace for each malformed message.
 */
final class MalformedRequests<Q> extends RequestMarshallers.Reading<Q> {
  /** Passed on instead of a request. */
  static final class Malformed {
    final Status status;

    Malformed(Status status) {
      this.status = status;
    }
  }

  private final String method;

  private MalformedRequests(String method, Marshaller<Q> requests) {
    super(requests);
    this.method = method;
  }

  static ServerServiceDefinition of(ServerServiceDefinition service) {
    return RequestMarshallers.changed(
        service,
        new RequestMarshallers.Change() {
          @Override
          public <Q> Marshaller<Q> of(String method, Marshaller<Q> requests) {
            return new MalformedRequests<>(method, requests);
          }
        });
  }

  // No interceptor between the transport and ErrorInterceptor reads requests.
  @SuppressWarnings("unchecked")
  @Override
  public Q parse(InputStream stream) {
    try {
      return requests.parse(stream);
    } catch (TensorFlowIgniteException invalid) {
      return (Q) new Malformed(ErrorStatuses.of(invalid));
    } catch (RuntimeException malformed) {
      Throwable reason = malformed.getCause() == null ? malformed : malformed.getCause();
      return (Q)
          new Malformed(
              ErrorStatuses.of(
                  invalidRequest(
                      "A request of %s cannot be read: %s. It must be one message of the"
                          + " method's request type. Use a client of the same version as the"
                          + " node.",
                      method, reason.getMessage())));
    }
  }
}
