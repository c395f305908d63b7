package io.tensorflowignite.data.flight;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.stream.DataErrors;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.flight.CallStatus;
import org.apache.arrow.flight.FlightRuntimeException;

/** Translates errors to Flight statuses. */
public final class FlightErrors {
  private final DataErrors errors;

  public FlightErrors(DataErrors errors) {
    this.errors = errors;
  }

  /** The exception with the status for the client. */
  public FlightRuntimeException of(String call, Throwable error) {
    if (error instanceof FlightRuntimeException) {
      return (FlightRuntimeException) error;
    }
    TensorFlowIgniteException described = errors.describe(call, error);
    return status(described.code()).withDescription(described.description()).toRuntimeException();
  }

  private static CallStatus status(ErrorCode code) {
    switch (code) {
      case ERROR_CODE_CACHE_NOT_FOUND:
      case ERROR_CODE_COLUMN_NOT_FOUND:
        return CallStatus.NOT_FOUND;
      case ERROR_CODE_CACHE_EXISTS:
        return CallStatus.ALREADY_EXISTS;
      case ERROR_CODE_PARTITION_NOT_LOCAL:
      case ERROR_CODE_CLUSTER_NOT_ACTIVE:
      case ERROR_CODE_NO_AGENT:
        return CallStatus.UNAVAILABLE;
      case ERROR_CODE_UNAUTHENTICATED:
        return CallStatus.UNAUTHENTICATED;
      case ERROR_CODE_PERMISSION_DENIED:
        return CallStatus.UNAUTHORIZED;
      case ERROR_CODE_LIMIT_EXCEEDED:
        return CallStatus.RESOURCE_EXHAUSTED;
      case ERROR_CODE_INTERNAL_ERROR:
        return CallStatus.INTERNAL;
      default:
        return CallStatus.INVALID_ARGUMENT;
    }
  }
}
