package io.tensorflowignite.storage.cache;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.function.Supplier;
import javax.cache.CacheException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.processors.cache.CacheStoppedException;
import org.apache.ignite.internal.processors.cache.distributed.dht.IgniteClusterReadOnlyException;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.transactions.TransactionTimeoutException;

/** What a caller is told of what Ignite throws. */
public final class CacheErrors {
  private CacheErrors() {}

  /**
   * Does something with the store's caches; a cache that is destroyed meanwhile, and a time-out,
   * are told as such.
   */
  public static <R> R told(String what, Supplier<R> body) {
    try {
      return body.get();
    } catch (IllegalStateException | CacheException | IgniteException e) {
      CacheStoppedException stopped = X.cause(e, CacheStoppedException.class);
      if (stopped != null) {
        throw new TensorFlowIgniteException(
            ErrorCode.CACHE_NOT_FOUND,
            what
                + " failed: "
                + stopped.getMessage()
                + ". Somebody has destroyed a cache of the store, and the files in it. Restart a"
                + " node to begin with an empty store.",
            e);
      }
      if (X.hasCause(e, IgniteClusterReadOnlyException.class)) {
        throw new TensorFlowIgniteException(
            ErrorCode.CLUSTER_NOT_ACTIVE,
            what
                + " failed: the cluster is read-only. Files can be changed once it is active."
                + " Activate it with: control.sh --set-state ACTIVE",
            e);
      }
      if (X.hasCause(e, TransactionTimeoutException.class)) {
        throw new TensorFlowIgniteException(
            ErrorCode.INTERNAL_ERROR,
            what
                + " timed out: the cluster did not take the change ("
                + e.getMessage()
                + "). A change is given "
                + Changes.DEADLINE_MS / 1000
                + " s. Look at the nodes' logs, and try it again.",
            e);
      }
      throw e;
    }
  }
}
