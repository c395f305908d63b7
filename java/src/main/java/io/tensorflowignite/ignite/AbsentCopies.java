package io.tensorflowignite.ignite;

import java.util.BitSet;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;

/** Partitions on disk of which no node of the cluster has a complete copy, as far as is known. */
public final class AbsentCopies {
  private AbsentCopies() {}

  /** The number of these partitions by the name of the cache; without caches that have none. */
  public static SortedMap<String, Integer> byCache(Ignite ignite) {
    GridKernalContext context = ((IgniteEx) ignite).context();
    SortedMap<String, Integer> absent = new TreeMap<>();
    for (CacheGroup group :
        CacheGroup.all(context.cache().context(), context.discovery()::discoCache)) {
      int count = group.isPersistent() ? count(group) : 0;
      if (count > 0) {
        group.caches().forEach(cache -> absent.put(cache.name(), count));
      }
    }
    return absent;
  }

  private static int count(CacheGroup group) {
    BitSet complete = new BitSet();
    group.copies().ifPresent(known -> known.complete().values().forEach(complete::or));
    return group.partitions() - complete.cardinality();
  }
}
