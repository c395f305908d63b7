package io.tensorflowignite.data.stream;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_NO_AGENT;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_SQL_INVALID;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.RateLimitedLog;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.IgniteLogger;

/** The errors that readers and loaders get, for all transports. */
public final class DataErrors {
  private static final String NO_AFFINITY = "Failed to find cache";

  private final RateLimitedLog log;

  public DataErrors(IgniteLogger log) {
    this.log = new RateLimitedLog(log);
  }

  /** The error with a code and a text for its reader. Logs an unexpected error. */
  public TensorFlowIgniteException describe(String call, Throwable error) {
    if (error instanceof TensorFlowIgniteException) {
      return (TensorFlowIgniteException) error;
    }
    if (error instanceof InterruptedException || error instanceof IgniteInterruptedException) {
      return new TensorFlowIgniteException(
          ERROR_CODE_NO_AGENT,
          call
              + " was ended because this node's service stops; only running services send rows;"
              + " call another node");
    }
    if (Causes.isStoppedCache(error) || isOfRemovedCache(error)) {
      return TensorFlowIgniteException.of(
          ERROR_CODE_CACHE_NOT_FOUND,
          "%s was ended because a cache that it reads was removed meanwhile, or its node stops"
              + " (%s); only caches that exist are read; load the cache again, or call another"
              + " node",
          call,
          MessageText.reason(error));
    }
    if (error instanceof StackOverflowError) {
      return new TensorFlowIgniteException(
          ERROR_CODE_SQL_INVALID,
          call
              + " was not run: its SQL is nested too deeply; a chain of AND and OR has at most some"
              + " thousand operands; shorten it, for instance by IN (...)");
    }
    if (error instanceof OutOfMemoryException) {
      return limitExceeded(
          "%s was ended: %s; the batches of all streams of a node share the memory that the"
              + " property rows.batchMemoryMegabytes sets; make batches smaller (batch_bytes), or"
              + " try again when other streams have ended",
          call, error.getMessage());
    }
    log.error("Data endpoint failed [call=" + call + "]", error);
    return TensorFlowIgniteException.of(
        ERROR_CODE_INTERNAL_ERROR,
        "%s failed: %s; this is a defect; see the node's log for the stack trace",
        call,
        MessageText.reason(error));
  }

  /** The affinity of a cache that was removed says so by a text alone. */
  private static boolean isOfRemovedCache(Throwable error) {
    String text = error.getMessage();
    return error instanceof IgniteException && text != null && text.startsWith(NO_AFFINITY);
  }
}
