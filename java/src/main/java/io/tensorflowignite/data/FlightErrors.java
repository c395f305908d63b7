package io.tensorflowignite.data;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.flight.CallStatus;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.IgniteLogger;

/** The one place where errors become Flight statuses. */
final class FlightErrors {
  private final IgniteLogger log;

  FlightErrors(IgniteLogger log) {
    this.log = log;
  }

  /** The status to send; what nobody foresaw is logged here. */
  FlightRuntimeException of(String call, Throwable error) {
    if (error instanceof TensorFlowIgniteException) {
      TensorFlowIgniteException told = (TensorFlowIgniteException) error;
      return status(told.code()).withDescription(told.description()).toRuntimeException();
    }
    if (error instanceof FlightRuntimeException) {
      return (FlightRuntimeException) error;
    }
    if (error instanceof InterruptedException || error instanceof IgniteInterruptedException) {
      return of(
          call,
          new TensorFlowIgniteException(
              ErrorCode.NO_AGENT,
              call
                  + " was ended because this node's service stops; rows come from running services;"
                  + " ask another node"));
    }
    log.error("Data endpoint failed [call=" + call + "]", error);
    return of(
        call,
        new TensorFlowIgniteException(
            ErrorCode.INTERNAL_ERROR,
            String.format(
                "%s failed: %s; this should not happen; see the node's log for the stack trace",
                call, error)));
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
      case INTERNAL_ERROR:
        return CallStatus.INTERNAL;
      default:
        return CallStatus.INVALID_ARGUMENT;
    }
  }
}
