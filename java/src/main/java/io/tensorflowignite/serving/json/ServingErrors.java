package io.tensorflowignite.serving.json;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/** Errors with the codes and the texts of TensorFlow Serving. */
final class ServingErrors {
  private ServingErrors() {}

  static StatusRuntimeException invalid(String text) {
    return Status.INVALID_ARGUMENT.withDescription(text).asRuntimeException();
  }

  static StatusRuntimeException unimplemented(String text) {
    return Status.UNIMPLEMENTED.withDescription(text).asRuntimeException();
  }

  /** As Serving's text of a status within another one. */
  static StatusRuntimeException within(String context, StatusRuntimeException error) {
    Status status = error.getStatus();
    return invalid(context + " Error: " + status.getCode() + ": " + status.getDescription());
  }
}
