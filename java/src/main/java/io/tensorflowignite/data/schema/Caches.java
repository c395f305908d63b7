package io.tensorflowignite.data.schema;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.table.SystemCache;
import io.tensorflowignite.v1.ErrorCode;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;

/** The cluster's caches, as a reader names them. */
public final class Caches {
  private final Ignite ignite;

  public Caches(Ignite ignite) {
    this.ignite = ignite;
  }

  /** A cache, its objects kept binary. */
  public IgniteCache<Object, Object> binary(String name) {
    requireActive();
    requireName(name);
    IgniteCache<Object, Object> cache = ignite.cache(name);
    if (cache == null) {
      throw new TensorFlowIgniteException(
          ErrorCode.CACHE_NOT_FOUND,
          String.format(
              "there is no cache %s; the cluster's caches are %s; name one of these, or load one"
                  + " with tensorflow_ignite.load",
              name, SystemCache.userCaches(ignite)));
    }
    return cache.withKeepBinary();
  }

  public boolean exists(String name) {
    return ignite.cacheNames().contains(name);
  }

  public void requireActive() {
    if (!ignite.cluster().state().active()) {
      throw new TensorFlowIgniteException(
          ErrorCode.CLUSTER_NOT_ACTIVE,
          "the cluster is not active; caches can be used once it is; activate it with"
              + " control.sh --set-state ACTIVE");
    }
  }

  public static void requireName(String name) {
    if (name.isEmpty()) {
      throw new TensorFlowIgniteException(
          ErrorCode.INVALID_REQUEST, "no cache is named; a command names one; set its field cache");
    }
  }
}
