package io.tensorflowignite.data.schema;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.SystemCache;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** Finds the cluster's caches by name. */
public final class CacheLookup {
  private final Ignite ignite;

  public CacheLookup(Ignite ignite) {
    this.ignite = ignite;
  }

  /** A cache, kept binary. */
  public IgniteCache<Object, Object> binary(String name) {
    requireActive();
    requireName(name);
    IgniteCache<Object, Object> cache =
        name.startsWith(SystemCache.IGNITE_PREFIX) ? null : ignite.cache(name);
    if (cache == null) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_CACHE_NOT_FOUND,
          "there is no cache %s; the cluster's caches are %s; name one of these, or load one with"
              + " tensorflow_ignite.load",
          name,
          SystemCache.userCaches(ignite));
    }
    return cache.withKeepBinary();
  }

  public void requireActive() {
    if (!ignite.cluster().state().active()) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_CLUSTER_NOT_ACTIVE,
          "the cluster is not active; only an active cluster has caches; activate it with"
              + " control.sh --set-state ACTIVE");
    }
  }

  public static void requireName(String name) {
    if (name.isEmpty()) {
      throw invalidRequest(
          "the command names no cache; a command reads or loads one cache; set its field cache");
    }
  }
}
