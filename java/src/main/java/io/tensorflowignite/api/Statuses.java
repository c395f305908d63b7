package io.tensorflowignite.api;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;

/** The one table from our errors to gRPC's. */
public final class Statuses {
  private Statuses() {}

  public static Status.Code code(ErrorCode code) {
    switch (code) {
      case CACHE_NOT_FOUND:
      case CODE_NOT_FOUND:
      case JOB_NOT_FOUND:
      case FILE_NOT_FOUND:
        return Status.Code.NOT_FOUND;
      case CACHE_EXISTS:
      case FILE_EXISTS:
        return Status.Code.ALREADY_EXISTS;
      case INVALID_REQUEST:
      case CODE_INVALID:
      case COLUMN_NOT_FOUND:
      case UNSUPPORTED_TYPE:
      case SQL_INVALID:
        return Status.Code.INVALID_ARGUMENT;
      case CACHE_EMPTY:
      case JOB_FINISHED:
      case JOB_NOT_FINISHED:
      case NO_AGENT:
      case CLUSTER_NOT_ACTIVE:
      case SCHEMA_UNKNOWN:
      case ROW_MISMATCH:
      case SHARING_UNAVAILABLE:
      case NOT_A_DIRECTORY:
      case IS_A_DIRECTORY:
      case DIRECTORY_NOT_EMPTY:
      case ATTEMPT_SUPERSEDED:
        return Status.Code.FAILED_PRECONDITION;
      case FILE_CHANGED:
        return Status.Code.ABORTED;
      case FILE_CORRUPT:
        return Status.Code.DATA_LOSS;
      case STORAGE_FULL:
      case LIMIT_EXCEEDED:
        return Status.Code.RESOURCE_EXHAUSTED;
      case PARTITION_NOT_LOCAL:
        return Status.Code.UNAVAILABLE;
      case UNAUTHENTICATED:
        return Status.Code.UNAUTHENTICATED;
      case PERMISSION_DENIED:
        return Status.Code.PERMISSION_DENIED;
      default:
        return Status.Code.INTERNAL;
    }
  }

  /** The status that tells of an error; what nobody foresaw is INTERNAL. */
  public static Status of(RuntimeException e) {
    if (e instanceof TensorFlowIgniteException) {
      TensorFlowIgniteException known = (TensorFlowIgniteException) e;
      return Status.fromCode(code(known.code())).withDescription(known.description()).withCause(e);
    }
    if (e instanceof StatusRuntimeException) {
      return ((StatusRuntimeException) e).getStatus();
    }
    return Status.INTERNAL
        .withDescription(
            TensorFlowIgniteException.shortened(
                "The node failed to answer: "
                    + e
                    + ". Its log has the details. [code=INTERNAL_ERROR]"))
        .withCause(e);
  }
}
