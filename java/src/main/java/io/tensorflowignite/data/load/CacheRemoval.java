package io.tensorflowignite.data.load;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PARTITION_NOT_LOCAL;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.cache.query.SqlFieldsQuery;

/**
 * Destroys caches. While partitions of a cache move between nodes, Ignite 2.17 cannot destroy it
 * safely: a NullPointerException may halt the receiving node's JVM. So this waits until no
 * partition moves.
 */
public final class CacheRemoval {
  private static final String MOVING =
      "SELECT COUNT(*) FROM SYS.PARTITION_STATES P JOIN SYS.CACHES C ON P.CACHE_GROUP_ID ="
          + " C.CACHE_GROUP_ID WHERE C.CACHE_NAME = ? AND P.STATE = 'MOVING'";

  /** Some gigabytes move within seconds; a longer time points to a problem of the cluster. */
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
        throw TensorFlowIgniteException.of(
            ERROR_CODE_PARTITION_NOT_LOCAL,
            "cache %s was not removed: %d of its partitions have been moving between nodes for %d"
                + " s; Ignite removes a cache safely only when no partition moves; load again when"
                + " the cluster has rebalanced",
            cache,
            moving,
            TimeUnit.NANOSECONDS.toSeconds(maxWaitNanos));
      }
      pause();
    }
    ignite.destroyCache(cache);
  }

  /** Number of partition copies, on any node, that are not complete yet. */
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
