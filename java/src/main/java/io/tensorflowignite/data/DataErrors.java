package io.tensorflowignite.data;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.tensorflowignite.RareLog;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.api.Statuses;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.IgniteLogger;

/** What a reader or loader is told of an error, whatever carries the telling. */
public final class DataErrors {
  private final RareLog log;

  public DataErrors(IgniteLogger log) {
    this.log = new RareLog(log);
  }

  /** Ends a call of gRPC, unless its client has done so. */
  public void end(ServerCallStreamObserver<?> answers, String call, Throwable error) {
    TensorFlowIgniteException told = told(call, error);
    if (!answers.isCancelled()) {
      answers.onError(
          Status.fromCode(Statuses.code(told.code()))
              .withDescription(told.description())
              .asRuntimeException());
    }
  }

  /** What nobody foresaw is logged here. */
  public TensorFlowIgniteException told(String call, Throwable error) {
    if (error instanceof TensorFlowIgniteException) {
      return (TensorFlowIgniteException) error;
    }
    if (error instanceof InterruptedException || error instanceof IgniteInterruptedException) {
      return new TensorFlowIgniteException(
          ErrorCode.NO_AGENT,
          call
              + " was ended because this node's service stops; rows come from running services;"
              + " ask another node");
    }
    if (error instanceof StackOverflowError) {
      return new TensorFlowIgniteException(
          ErrorCode.SQL_INVALID,
          call
              + " was not run: its SQL is nested too deeply; a chain of AND and OR has some"
              + " thousand links at most; shorten it, for instance by IN (...)");
    }
    if (error instanceof OutOfMemoryException) {
      return new TensorFlowIgniteException(
          ErrorCode.LIMIT_EXCEEDED,
          String.format(
              "%s was ended: %s; the batches of all streams of a node share the memory that its"
                  + " property batchMemoryMegabytes says; make batches smaller, or try again when"
                  + " other streams have ended",
              call, error.getMessage()));
    }
    log.error("Data endpoint failed [call=" + call + "]", error);
    return new TensorFlowIgniteException(
        ErrorCode.INTERNAL_ERROR,
        String.format(
            "%s failed: %s; this should not happen; see the node's log for the stack trace",
            call, error));
  }
}
