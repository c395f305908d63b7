package io.tensorflowignite;

import io.tensorflowignite.v1.ErrorCode;

/**
 * An error that a user can act on. Its text has three parts: what happened (with ids), the rule
 * (with its numbers), what to do next.
 */
public final class TensorFlowIgniteException extends RuntimeException {
  private final ErrorCode code;

  public TensorFlowIgniteException(ErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  public TensorFlowIgniteException(ErrorCode code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  public ErrorCode code() {
    return code;
  }

  /** The text as it travels in a gRPC status: with the suffix by which clients know the error. */
  public String description() {
    return getMessage() + " [code=" + code + "]";
  }
}
