package io.tensorflowignite.storage.cache;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_DATA_LOST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import java.util.Optional;
import java.util.function.Supplier;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.transactions.TransactionTimeoutException;

/** Translates exceptions of Ignite. */
final class CacheErrors {
  private CacheErrors() {}

  /**
   * Runs an operation on the store's caches. When a cache is destroyed meanwhile, records are lost,
   * the cluster is read-only, or a transaction times out, the error says so.
   *
   * @param operation its name in errors, with a capital letter
   * @param waits describes for how long, and for what, a change that timed out has waited
   */
  static <R> R translate(String operation, Supplier<String> waits, Supplier<R> body) {
    try {
      return body.get();
    } catch (IllegalStateException | CacheException | IgniteException e) {
      Optional<Throwable> stopped = Causes.stoppedCache(e);
      if (stopped.isPresent()) {
        throw new TensorFlowIgniteException(
            ERROR_CODE_CACHE_NOT_FOUND,
            String.format(
                "%s failed: %s. A program has destroyed a cache of the store, and with it the"
                    + " files. Restart a node to create an empty store.",
                operation, MessageText.reason(stopped.get())),
            e);
      }
      if (Causes.isReadOnly(e)) {
        throw new TensorFlowIgniteException(
            ERROR_CODE_CLUSTER_NOT_ACTIVE,
            operation
                + " failed: the cluster is read-only. Only in an active cluster files can be"
                + " changed. Activate it with: control.sh --set-state ACTIVE",
            e);
      }
      if (Causes.isLoss(e)) {
        throw new TensorFlowIgniteException(
            ERROR_CODE_DATA_LOST,
            operation
                + " failed: every node that held a part of the directories has left the cluster, so"
                + " nobody knows which files there were. A lost directory does not count as an"
                + " empty one. If these nodes store data on disk, start them again. To go on"
                + " without the lost entries: tensorflow-ignite accept-data-loss"
                + " tensorflow-ignite-files (or NAME-files, if storage.name is NAME).",
            e);
      }
      if (Causes.has(e, TransactionTimeoutException.class)) {
        throw timedOut(operation, waits.get(), e);
      }
      throw e;
    }
  }

  static TensorFlowIgniteException timedOut(String operation, String waits, Throwable cause) {
    return new TensorFlowIgniteException(
        ERROR_CODE_INTERNAL_ERROR,
        String.format(
            "%s timed out: %s. Nothing was changed. Try again when the cause has ended.",
            operation, waits),
        cause);
  }
}
