package io.tensorflowignite.rpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;

/** The only table from our error codes to gRPC's. */
public final class ErrorStatuses {
  private ErrorStatuses() {}

  private static Status.Code code(ErrorCode code) {
    switch (code) {
      case ERROR_CODE_CACHE_NOT_FOUND:
      case ERROR_CODE_CODE_NOT_FOUND:
      case ERROR_CODE_JOB_NOT_FOUND:
      case ERROR_CODE_NODE_NOT_FOUND:
      case ERROR_CODE_MODEL_NOT_FOUND:
      case ERROR_CODE_FILE_NOT_FOUND:
        return Status.Code.NOT_FOUND;
      case ERROR_CODE_CACHE_EXISTS:
      case ERROR_CODE_FILE_EXISTS:
        return Status.Code.ALREADY_EXISTS;
      case ERROR_CODE_INVALID_REQUEST:
      case ERROR_CODE_CODE_INVALID:
      case ERROR_CODE_COLUMN_NOT_FOUND:
      case ERROR_CODE_UNSUPPORTED_TYPE:
      case ERROR_CODE_SQL_INVALID:
        return Status.Code.INVALID_ARGUMENT;
      case ERROR_CODE_CACHE_EMPTY:
      case ERROR_CODE_JOB_FINISHED:
      case ERROR_CODE_JOB_NOT_FINISHED:
      case ERROR_CODE_JOB_UNREADABLE:
      case ERROR_CODE_NO_AGENT:
      case ERROR_CODE_CLUSTER_NOT_ACTIVE:
      case ERROR_CODE_SCHEMA_UNKNOWN:
      case ERROR_CODE_MODEL_UNUSABLE:
      case ERROR_CODE_ROW_MISMATCH:
      case ERROR_CODE_SHARING_UNAVAILABLE:
      case ERROR_CODE_NOT_A_DIRECTORY:
      case ERROR_CODE_IS_A_DIRECTORY:
      case ERROR_CODE_DIRECTORY_NOT_EMPTY:
      case ERROR_CODE_ATTEMPT_SUPERSEDED:
        return Status.Code.FAILED_PRECONDITION;
      case ERROR_CODE_FILE_CHANGED:
        return Status.Code.ABORTED;
      case ERROR_CODE_FILE_CORRUPT:
      case ERROR_CODE_FILE_LOST:
      case ERROR_CODE_DATA_LOST:
        return Status.Code.DATA_LOSS;
      case ERROR_CODE_STORAGE_FULL:
      case ERROR_CODE_LIMIT_EXCEEDED:
        return Status.Code.RESOURCE_EXHAUSTED;
      case ERROR_CODE_PARTITION_NOT_LOCAL:
      case ERROR_CODE_MODEL_NOT_SERVED:
        return Status.Code.UNAVAILABLE;
      case ERROR_CODE_PREDICTION_TIMED_OUT:
        return Status.Code.DEADLINE_EXCEEDED;
      case ERROR_CODE_UNAUTHENTICATED:
        return Status.Code.UNAUTHENTICATED;
      case ERROR_CODE_PERMISSION_DENIED:
        return Status.Code.PERMISSION_DENIED;
      default:
        return Status.Code.INTERNAL;
    }
  }

  /** Ends a call with an error, unless the client has cancelled the call. */
  public static void end(ServerCallStreamObserver<?> call, RuntimeException error) {
    if (!call.isCancelled()) {
      call.onError(of(error).asRuntimeException());
    }
  }

  /** Closes a call with a status, before its method runs. */
  public static <Q> ServerCall.Listener<Q> reject(ServerCall<Q, ?> call, Status status) {
    call.close(status, new Metadata());
    return new ServerCall.Listener<Q>() {};
  }

  /** The status of an exception; INTERNAL for an unexpected one. */
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
                    + MessageText.reason(e)
                    + ". Its log has the details. [code=INTERNAL_ERROR]"))
        .withCause(e);
  }
}
