package io.tensorflowignite.data.load;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.query.SqlFieldsQuery;

/**
 * Destroys caches. Ignite 2.17 cannot destroy one whose partitions are on their way to another
 * node: the receiver may run into a NullPointerException that halts its JVM. So this waits until
 * none is.
 */
public final class CacheRemoval {
  private static final String MOVING =
      "SELECT COUNT(*) FROM SYS.PARTITION_STATES P JOIN SYS.CACHES C"
          + " ON P.CACHE_GROUP_ID = C.CACHE_GROUP_ID WHERE C.CACHE_NAME = ? AND P.STATE = 'MOVING'";

  /** Moving some gigabytes takes seconds; after this time a person had better look. */
  private static final long MAX_WAIT_SECONDS = 120;

  private static final long POLL_MILLIS = 50;

  private final Ignite ignite;
  private final long maxWaitNanos;

  public CacheRemoval(Ignite ignite) {
    this(ignite, TimeUnit.SECONDS.toNanos(MAX_WAIT_SECONDS));
  }

  public CacheRemoval(Ignite ignite, long maxWaitNanos) {
    this.ignite = ignite;
    this.maxWaitNanos = maxWaitNanos;
  }

  public void destroy(String cache) {
    long deadline = System.nanoTime() + maxWaitNanos;
    for (long moving = moving(cache); moving > 0; moving = moving(cache)) {
      if (System.nanoTime() - deadline > 0) {
        throw new TensorFlowIgniteException(
            ErrorCode.PARTITION_NOT_LOCAL,
            String.format(
                "cache %s was not removed: %d of its partitions have been moving between nodes for"
                    + " %d s; Ignite removes a cache safely only when none moves; load again when"
                    + " the cluster has rebalanced",
                cache, moving, TimeUnit.NANOSECONDS.toSeconds(maxWaitNanos)));
      }
      pause();
    }
    ignite.destroyCache(cache);
  }

  /** Copies of partitions, on any node, that are not complete yet. */
  private long moving(String cache) {
    if (ignite.cache(cache) == null) {
      return 0;
    }
    SqlFieldsQuery query = new SqlFieldsQuery(MOVING).setArgs(cache).setLocal(true);
    List<List<?>> answer = ignite.cache(cache).query(query).getAll();
    return (Long) answer.get(0).get(0);
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IgniteInterruptedException(interrupted);
    }
  }
}
