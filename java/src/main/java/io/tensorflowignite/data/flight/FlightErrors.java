package io.tensorflowignite.data.flight;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.data.DataErrors;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.flight.CallStatus;
import org.apache.arrow.flight.FlightRuntimeException;

/** The one place where errors become Flight statuses. */
public final class FlightErrors {
  private final DataErrors errors;

  public FlightErrors(DataErrors errors) {
    this.errors = errors;
  }

  /** The status to send. */
  public FlightRuntimeException of(String call, Throwable error) {
    if (error instanceof FlightRuntimeException) {
      return (FlightRuntimeException) error;
    }
    TensorFlowIgniteException told = errors.told(call, error);
    return status(told.code()).withDescription(told.description()).toRuntimeException();
  }

  private static CallStatus status(ErrorCode code) {
    switch (code) {
      case CACHE_NOT_FOUND:
      case COLUMN_NOT_FOUND:
        return CallStatus.NOT_FOUND;
      case CACHE_EXISTS:
        return CallStatus.ALREADY_EXISTS;
      case PARTITION_NOT_LOCAL:
      case CLUSTER_NOT_ACTIVE:
      case NO_AGENT:
        return CallStatus.UNAVAILABLE;
      case UNAUTHENTICATED:
        return CallStatus.UNAUTHENTICATED;
      case PERMISSION_DENIED:
        return CallStatus.UNAUTHORIZED;
      case LIMIT_EXCEEDED:
        return CallStatus.RESOURCE_EXHAUSTED;
      case INTERNAL_ERROR:
        return CallStatus.INTERNAL;
      default:
        return CallStatus.INVALID_ARGUMENT;
    }
  }
}
