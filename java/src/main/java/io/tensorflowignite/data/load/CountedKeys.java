package io.tensorflowignite.data.load;

import static io.tensorflowignite.base.TensorFlowIgniteException.limitExceeded;

import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.table.LoadTable;
import io.tensorflowignite.v1.ExistingCache;
import java.util.UUID;
import org.apache.ignite.Ignite;

/**
 * The keys that a load counts, which no other load counts at the same time; closed when the load
 * has ended. Of rows with a key column it does nothing.
 */
final class CountedKeys implements AutoCloseable {
  private final Ignite ignite;
  private final LoadPlan plan;
  private final LoadTable loads;

  private CountedKeys(Ignite ignite, LoadPlan plan, LoadTable loads) {
    this.ignite = ignite;
    this.plan = plan;
    this.loads = loads;
  }

  /**
   * @throws TensorFlowIgniteException LIMIT_EXCEEDED: another load counts keys of the cache.
   */
  static CountedKeys of(Ignite ignite, LoadPlan plan) {
    if (!plan.key.isCounted() || plan.command.getOnlyCheck() || willBeRefused(ignite, plan)) {
      return new CountedKeys(ignite, plan, null);
    }
    LoadTable loads = new LoadTable(ignite);
    if (!loads.begin(plan.cache(), UUID.randomUUID())) {
      throw limitExceeded(
          "another load adds rows without a key column to cache %s at the same time; both would"
              + " count the same keys; load again when the other has ended, or name a column with"
              + " keys (key=)",
          plan.cache());
    }
    return new CountedKeys(ignite, plan, loads);
  }

  private static boolean willBeRefused(Ignite ignite, LoadPlan plan) {
    ExistingCache existing = plan.command.getExisting();
    return existing != ExistingCache.EXISTING_CACHE_APPEND
        && existing != ExistingCache.EXISTING_CACHE_REPLACE
        && ignite.cacheNames().contains(plan.cache());
  }

  /** Requires that no load has added rows since the first key was determined. */
  void requireNew(LoadTarget target) {
    long first = plan.command.getFirstKey();
    if (loads != null && !target.isNew && ignite.cache(plan.cache()).containsKey(first)) {
      throw limitExceeded(
          "cache %s has a row with key %d, from which the load would count its keys: another load"
              + " has added rows meanwhile; a load overwrites no row without a key column; load"
              + " again",
          plan.cache(), first);
    }
  }

  @Override
  public void close() {
    if (loads != null) {
      loads.end(plan.cache());
    }
  }
}
