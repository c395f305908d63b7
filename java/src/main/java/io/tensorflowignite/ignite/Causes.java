package io.tensorflowignite.ignite;

import java.util.Optional;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.processors.cache.CacheInvalidStateException;
import org.apache.ignite.internal.processors.cache.CacheStoppedException;
import org.apache.ignite.internal.processors.cache.distributed.dht.IgniteClusterReadOnlyException;
import org.apache.ignite.internal.util.typedef.X;

/** Why an operation of Ignite failed, by the causes of its exception and what these suppressed. */
public final class Causes {
  private Causes() {}

  /** Whether the exception, or one of its causes, is of one of these classes. */
  public static boolean has(Throwable error, Class<?>... types) {
    return X.hasCause(error, types);
  }

  /** Whether this node stops. */
  public static boolean isStoppingNode(Throwable error) {
    return has(error, NodeStoppingException.class);
  }

  /** Whether this node stops, or the thread was interrupted, as a stopping node does it. */
  public static boolean isStop(Throwable error) {
    return isStoppingNode(error)
        || has(error, InterruptedException.class, IgniteInterruptedException.class);
  }

  /** Whether the operation's cache was destroyed, or stops with its node. */
  public static boolean isStoppedCache(Throwable error) {
    return has(error, CacheStoppedException.class);
  }

  /** The same exception, which names the cache, if it is a cause and was not suppressed. */
  public static Optional<Throwable> stoppedCache(Throwable error) {
    return Optional.ofNullable(X.cause(error, CacheStoppedException.class));
  }

  /** Whether all owners of the operation's partition have left. */
  public static boolean isLoss(Throwable error) {
    // A read-only cluster rejects changes with the same exception, and another cause.
    return has(error, CacheInvalidStateException.class) && !isReadOnly(error);
  }

  /** Whether the cluster is read-only. */
  public static boolean isReadOnly(Throwable error) {
    return has(error, IgniteClusterReadOnlyException.class);
  }
}
