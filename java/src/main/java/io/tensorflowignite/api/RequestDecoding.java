package io.tensorflowignite.api;

import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.io.InputStream;

/**
 * Hands on a request that cannot be read as {@link Malformed}, for {@link ErrorInterceptor} to tell
 * of. What a marshaller throws would end the call as UNKNOWN, without a reason, and with a stack
 * trace in the log for each bad message.
 */
final class RequestDecoding<Q> extends RequestMarshallers.Reading<Q> {
  /** Stands in the place of a request. */
  static final class Malformed {
    final Status status;

    Malformed(Status status) {
      this.status = status;
    }
  }

  private final String method;
  private final Marshaller<Q> requests;

  private RequestDecoding(String method, Marshaller<Q> requests) {
    super(requests);
    this.method = method;
    this.requests = requests;
  }

  static ServerServiceDefinition of(ServerServiceDefinition service) {
    return RequestMarshallers.changed(
        service,
        new RequestMarshallers.Change() {
          @Override
          public <Q> Marshaller<Q> of(String method, Marshaller<Q> requests) {
            return new RequestDecoding<>(method, requests);
          }
        });
  }

  // Nobody between the transport and ErrorInterceptor looks at a request.
  @SuppressWarnings("unchecked")
  @Override
  public Q parse(InputStream stream) {
    try {
      return requests.parse(stream);
    } catch (TensorFlowIgniteException refused) {
      return (Q) new Malformed(Statuses.of(refused));
    } catch (RuntimeException malformed) {
      Throwable reason = malformed.getCause() == null ? malformed : malformed.getCause();
      return (Q)
          new Malformed(
              Statuses.of(
                  new TensorFlowIgniteException(
                      ErrorCode.INVALID_REQUEST,
                      String.format(
                          "A request of %s cannot be read: %s. It is one message of the kind that"
                              + " the method takes. Use a client of the same version as the node.",
                          method, reason.getMessage()))));
    }
  }
}
